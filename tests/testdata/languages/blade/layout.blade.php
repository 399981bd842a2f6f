<!DOCTYPE html>
<html lang="{{ str_replace('_', '-', app()->getLocale()) }}">
<head>
    <title>@yield('title', 'The nursery') - @yield("subtitle")</title>
    @vite(['resources/css/app.css', 'resources/js/app.js'])
    <link rel="stylesheet" href="/css/print.css">
    @stack('styles')
    @livewireStyles
    @section('meta')
        <meta name="description" content="@yield('description')">
    @show
</head>
<body @class(['dark' => $isDark]) id="top">
    {{-- <h2 id="old">Old</h2> <x-old.header /> @section('old') --}}
    <x-layouts.header :user="$user" @click="open = ! open">
        <x-slot name="logo"><x-logo /></x-slot>
    </x-layouts.header>
    <!-- <x-in-page-comment /> -->
    @include('layouts.partials.flash', ['status' => session('status')])
    @hasSection('aside')
        <aside id="aside">@yield('aside')</aside>
    @endif
    <main id="content">
        @yield('content')
        @fragment('plants')
            <ul id="plants">
                @forelse ($plants as $plant)
                    <li><x-plant-card :plant="$plant" :key="$plant->id" /></li>
                @empty
                    <li id="no-plants">None.</li>
                @endforelse
            </ul>
        @endfragment
        @section('help') <h2>Help</h2> @section('help.inner') <p>Ask.</p> @endsection @stop
    </main>
    @section('footer')
        <h2 id="find-us">Find us</h2>
        @parent
    @overwrite
    @stack('scripts')
    <script>
        window.nursery = {{ Js::from($settings) }};
        const plants = @json($plants->pluck('name', 'id'));
        @auth
        function reserve(id) {
            return fetch(`/plants/${id}`, { headers: { 'X-CSRF-TOKEN': '{{ csrf_token() }}' } });
        }
        @endauth

        class PlantFilter {
            apply(season) {
                return plants.filter((plant) => plant.season === season);
            }
        }
    </script>
</body>
</html>
