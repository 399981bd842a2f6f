import { Body, Controller, Delete, Get, Param, Post, Put, UseGuards } from '@nestjs/common';
import { OrdersService } from './orders.service';

/** Serves orders, for instance `@Get('documented')`. */
@Controller('orders')
@UseGuards(AuthGuard)
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Get()
  list(): Promise<Order[]> {
    return this.orders.list();
  }

  @Get([':id', 'by-id/:id'])
  async find(@Param('id') id: string): Promise<Order> {
    return this.orders.find(id);
  }

  @Post()
  @HttpCode(201)
  create(@Body() order: Order) {
    return this.orders.create(order);
  }

  @Put(':id/status')
  @UseGuards(
    RolesGuard,
  )
  setStatus(@Param('id') id: string): void {}

  // @Delete(':id')
  remove(id: string) {
    return '@Delete("quoted")';
  }
}

@Controller({ path: 'health', version: '1' })
class HealthController {
  @Get('live') live = () => true;

  @All('ready')
  ready() {
    return true;
  }
}
