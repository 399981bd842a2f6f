@props([
    'plant',
    'size' => 'small',
    'title' => '@ your place',
])
@aware(['theme' => 'light'])
@inject('prices', 'App\Services\PriceList')
@use('App\Enums\Season')

@php($isRare = $plant->stock < 3)
@php
    $classes = collect(['card', "card--{$size}"])
        ->when($isRare, fn ($list) => $list->push('card--rare'))
        ->implode(' ');

    $label = function (Season $season): string {
        return __("seasons.{$season->value}");
    };

    class CardNumbers
    {
        public const LIMIT = 3;

        public function __construct(private readonly Plant $plant) {}

        public function left(): int
        {
            return max(0, self::LIMIT - $this->plant->sold);
        }
    }
@endphp

<article {{ $attributes->merge(['class' => $classes, 'id' => 'plant-card']) }} id="plant-card">
    <x-slot:badge class="badge">{{ $badge ?? '' }}</x-slot:badge>
    <h3>{{ $plant->name }}</h3>
    @isset($plant->photo)<x-media.photo :src="$plant->photo->url()" lazy />@endisset
    <x-icon.leaf /><x-nursery::price :amount="$prices->of($plant)" />
    @switch($plant->season)
        @case(Season::Spring)
            @include('plants.partials.spring')
            @break
        @default
            @includeFirst(['plants.partials.' . $plant->kind, 'plants.partials.any'], ['plant' => $plant])
    @endswitch
    @includeWhen($plant->isFor('shade'), 'plants.partials.shade', ['text' => 'dark'])
    @includeUnless(auth()->guest(), 'plants.partials.reserve')
    @includeIf('plants.partials.notes')
    @each('plants.partials.tag', $plant->tags, 'tag', 'plants.partials.no-tags')
    {{ $slot }}
    @verbatim
        <div id="plant-app">{{ message }} @section('in-verbatim') @include('in.verbatim')</div>
    @endverbatim
    @@include('shown.as.text') @@section('shown')
</article>

@once
    @push('styles')
        <style>
            .card--rare > .badge { color: var(--rare); }
            .card--{{ $size }} { max-width: 20rem; }
        </style>
    @endpush
@endonce
