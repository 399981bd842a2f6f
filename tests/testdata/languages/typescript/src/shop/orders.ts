import axios, { type AxiosInstance, isAxiosError as isError } from 'axios';
import type { Money } from "../money";
import * as dates from '@/dates';
import './side-effect';
import fs = require('fs');
import Line = Models.Line;

export * from './lines';
export * as taxes from './taxes';
export type { Rate } from './rates';
export { total, sum as add } from './sums';

/** What can be bought. */
export interface Product<T = unknown> extends Entity, Named {
  /** The price. */
  readonly price: Money;
  tags?: string[];
  'data-id': number;
  describe(short?: boolean): string;
  new (name: string): Product;
  (name: string): Product;
  [key: string]: unknown;
  get label(): string;
  onChange: (value: T) => void;
}

export type Id = string | number;
export type Order = Entity & {
  id: Id;
  cancel(): void;
} & ({ paid: true; receipt: string } | { paid: false });
type Handler<E extends Event> = (event: E) => Promise<void>;

export enum State {
  Open,
  // Money has come.
  Paid = 'paid',
  'in-between' = 3,
}
declare const enum Flags { None = 0 }

/**
 * Keeps orders.
 */
@Injectable({ providedIn: 'root' })
@Traced
export abstract class OrderService<T extends Order> extends Base<T> implements OnInit, Disposable {
  static readonly LIMIT = 100;
  @Input() private name?: string = 'x';
  protected readonly orders = new Map<Id, T>();
  #cache: T[] = [];
  public onSaved = async (order: T): Promise<void> => {
    const notify = () => order;
  };
  declare extra: string;

  constructor(
    private readonly http: AxiosInstance,
    public clock = Date,
    plain: string,
  ) {
    super();
  }

  find(id: string): T;
  find(id: number): T;
  /** Finds by id. */
  find(id: Id): T {
    type Local = { hit: boolean };
    return this.orders.get(id)!;
  }

  // Called by the framework.
  @HostListener('window:resize')
  @Debounce(10)
  onResize(): void {}

  abstract save(order: T): Promise<void>;
  protected get size(): number { return this.orders.size; }
  private static async *pages() {}
  [Symbol.dispose](): void {}
  ['computed']() {}
}

class Internal { private a = 1; b() {} }

export const VERSION = '1' as const;
const registry = new Map<string, Handler<Event>>();
export const createOrder = <T,>(id: Id): Order => ({
  cancel() {},
  refund: () => {},
}) as Order;
export let counter = 0, increment = function (by: number) { counter += by; };
const { a, b: { c }, ...others } = registry as any;

export function parse(text: string): Order;
export function parse(text: unknown): Order {
  function helper() {}
  class Parser { run() {} }
  interface Options { strict: boolean }
  return helper() as never;
}
export default function () {}

namespace Legacy.Orders {
  export const current = 1;
  const hidden = 2;
  export function migrate() {}
}

declare module 'untyped' {
  export function run(): void;
  const implicit: string;
}
declare global {
  interface Window { shop: OrderService<Order> }
}
declare function external(name: string): void;
export declare let ambient: number;

if (isError(registry)) {
  const local = 1;
  function conditional() {}
}

const routes = [{ path: '/', load: () => import('./home') }];

export const broken = = 1;
function afterError(): void {}

export { registry };
