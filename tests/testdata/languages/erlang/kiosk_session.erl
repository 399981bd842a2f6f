#!/usr/bin/env escript
%% -*- erlang -*-
%%% @doc Sessions of a ticket kiosk. fake_function() -> ok.
%%% @end
-module('kiosk_session').
-vsn("2.1").
-author({ada, 'ada@example.org'}).
-behaviour(gen_statem).
-behavior(kiosk_plugin).

-compile([export_all, nowarn_export_all]).
-compile({inline, [clamp/3]}).
-export([start_link/1,
         pay/2, cancel/1]).
-export([init/1, callback_mode/0, handle_event/4, terminate/3]).
-export_type([session/0, amount/0]).
-import(lists, [foldl/3, keyfind/3]).
-include("kiosk.hrl").
-include_lib("kernel/include/logger.hrl").
-ifdef(TEST).
-include_lib("eunit/include/eunit.hrl").
-endif.
-on_load(load_nif/0).
-dialyzer({nowarn_function, loop/1}).

-define(TIMEOUT, 30_000).
-define(SERVER, ?MODULE).
-define(LOG(Format, Args), logger:info(Format ++ "~n", Args)).
-define(IF(Cond, Then, Else),
        case Cond of
            true -> Then;
            false -> Else
        end).
-undef(OLD).
-ifndef(LIMIT).
-define(LIMIT, 500).
-else.
-define(OTHER_LIMIT, 5).
-endif.

-type amount() :: non_neg_integer().
-type coin() :: 1 | 2 | 5 | 10 | 20 | 50.
-type either(Left, Right) :: {left, Left}
                           | {right, Right}.
-opaque session() :: #{id := binary(), paid => amount()}.
-nominal ticket() :: {zone, 1..6}.

-record(state, {id                   :: binary(),
                paid = 0             :: amount(),
                coins = []           :: [coin()],
                'quoted field' = nil,
                owner                :: pid() | undefined}).
-record(empty, {}).
-record('Quoted', {a, b = fun(X) -> X end}).

-callback price(Zone :: pos_integer()) -> amount().
-callback print(session(), Options) -> ok | {error, term()} when Options :: [atom()].
-optional_callbacks([print/2]).

-spec start_link(binary()) -> {ok, pid()} | {error, term()}.
%% @doc Starts a session.
start_link(Id) ->
    gen_statem:start_link({local, ?SERVER}, ?MODULE, [Id], []).

%% Pays with coins.
-spec pay(pid(), [coin()]) -> either(amount(), overpaid);
         (atom(), [coin()]) -> no_return().
pay(Pid, Coins) when is_pid(Pid), Coins =/= [] ->
    gen_statem:call(Pid, {pay, Coins});
pay(Name, []) when is_atom(Name)
                   andalso Name =/= undefined ->
    exit({no_coins, "pay(X) -> fake"});

pay(_, _) ->
    exit(badarg).

cancel(Pid) -> gen_statem:cast(Pid, cancel).

callback_mode() -> [handle_event_function, state_enter].

init([Id]) ->
    process_flag(trap_exit, true),
    Data = #state{id = Id, owner = self()},
    {ok, waiting, Data, [{state_timeout, ?TIMEOUT, expire}]}.

handle_event(enter, _Old, waiting, #state{paid = Paid} = Data) ->
    ?LOG("waiting ~p", [Paid]),
    {keep_state, Data};
handle_event({call, From}, {pay, Coins}, waiting, Data) ->
    Sum = fun Sum([], Acc) -> Acc;
              Sum([C | Rest], Acc) -> Sum(Rest, Acc + C)
          end,
    Paid = Sum(Coins, Data#state.paid),
    Apply = fun ?MODULE:clamp/3,
    case Apply(Paid, 0, ?LIMIT) of
        P when P > 100 ->
            {next_state, printing, Data#state{paid = P}, {reply, From, {left, P}}};
        _ ->
            {keep_state, Data}
    end;
handle_event(state_timeout, expire, _, Data) ->
    {stop, normal, Data};
handle_event(info, {'EXIT', _, Reason}, _State, _Data) ->
    {stop, Reason}.

terminate(_, _, _) -> ok.

clamp(X, Low, High) -> max(Low, min(High, X)).

'funny name'(X) -> X.
'Upper'() -> $a + $\s + $" + $%.

%% Same name, other arity.
total(Coins) -> total(Coins, 0).
total([], Acc) -> Acc;
total([C | Cs], Acc) -> total(Cs, Acc + C).

loop(#state{coins = [First | _]} = State) ->
    receive
        {From, get} ->
            From ! {self(), State},
            loop(State);
        stop -> ok
    after 1000 ->
        try
            risky(First)
        of
            {ok, V} -> V
        catch
            error:badarg:Stack -> {Stack, "risky(X) ->\n  no."};
            throw:T -> T
        after
            cleanup()
        end
    end.

binary_parts(<<Zone:8, Size:16/little, Body:Size/binary, _/bits>>) ->
    [{Zone, B} || <<B>> <= Body, B > 3],
    #{zone => Zone, body => Body, <<"key">> => ?IF(Zone > 1, far, near)};
binary_parts(#{zone := Z}) ->
    Z.

heredoc() ->
    """
    fake_in_triple() -> ok.
    """.

maybe_pay(Pid) ->
    maybe
        {ok, Coins} ?= read_coins(),
        pay(Pid, Coins)
    else
        {error, _} = E -> E
    end.

load_nif() -> erlang:load_nif("kiosk", 0).
nif_stub(_) -> erlang:nif_error(not_loaded).

-doc "A documented function.".
-doc #{since => "2.0"}.
documented() -> ok.

-ifdef(TEST).

pay_test() ->
    ?assertEqual({left, 120}, pay(self(), [50, 50, 20])).

pay_test_() ->
    {setup, fun() -> ok end, fun(_) -> ok end,
     [?_assert(true), {"with a title", fun cancel_case/0}]}.

cancel_case() -> ok.
-endif.

main(Args) ->
    io:format("~p~n", [Args]).
