@extends('mail.base', ['title' => 'Thanks'])

@section('subject', 'Your plants')
@section('body')
    <h1>Thank you</h1>
    @component('mail.components.button', ['url' => $url]) Open @endcomponent
    <x-mail::table>{{ $plants }}</x-mail::table>
    @prepend('notes')<p id="note">Water them.</p>@endprepend
@endsection

@section('footer')@include('mail.footer')@endsection @section('legal')<small id="legal">{{ $legal }}</small>@endsection
