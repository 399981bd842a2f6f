{{-- The page of an order. @include('not.read') {{ notRead() }} --}}
@extends('layouts.app')
@use('App\Models\Order')

@section('title', __('Order :number', ['number' => $order->number]))

@php
    $total = $order->lines->sum(fn ($line) => $line->total());
    $carrier = Carrier::for($order);

    function shippingNote(Order $order): string
    {
        return $order->isExpress() ? 'express' : 'standard';
    }
@endphp

@section('content')
    <h1 id="order">{{ $order->number }}</h1>
    <x-alert type="info" :message="$order->notice()" />
    @include('orders.partials.header', ['order' => $order])
    @includeWhen($order->isPaid(), 'orders.partials.receipt')

    @if ($order->lines->isEmpty())
        <p>Nothing yet; mail support@example.org, or {!! nl2br(e($order->remark)) !!}</p>
    @else
        <table id="lines">
            @foreach ($order->lines as $line)
                <tr class="{{ $line->isGift() ? 'gift' : '' }}">
                    <td>{{ Str::limit($line->title, 40) }}</td>
                    <td>{{ money($line->total()) }}</td>
                </tr>
            @endforeach
        </table>
    @endif

    @component('mail::panel')
        @slot('footer') {{ route('orders.show', $order) }} @endslot
        Sent by {{ $carrier->name }}.
    @endcomponent

    <h2>History</h2>
    @each('orders.partials.event', $order->events, 'event')
    <x-forms.button :disabled="! Gate::allows('cancel', $order)">Cancel</x-forms.button>
    @can('update', $order)
        @livewire('order-editor', ['order' => $order])
    @endcan
    @@notADirective('x')
@endsection

@section('sidebar')
    @yield('sidebar.extra')
    <?php $count = OrderStatistics::count(); ?>
    <p><?= shippingNote($order) ?> {{ $count }}</p>
@show

@push('scripts')
    <script>
        const orderId = @json($order->id);

        function cancelOrder(button) {
            button.disabled = true;
            return fetch("{{ route('orders.cancel', $order) }}", { method: 'POST' });
        }
    </script>
@endpush

@stack('modals')

<style>
    .gift { background: url('/img/bow.svg'); }
</style>
@fragment('total')
    <output id="total">{{ $total }}</output>
@endfragment
