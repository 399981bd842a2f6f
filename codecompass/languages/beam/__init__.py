"""Elixir, Erlang and Gleam."""
