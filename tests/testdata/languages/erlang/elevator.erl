%% @doc One elevator: its doors, its queue of floors, and where it is.
-module(elevator).
-behaviour(gen_statem).

-include("building.hrl").
-include_lib("kernel/include/logger.hrl").
-import(lists, [member/2, usort/1]).

-export([start_link/2, call/2, position/1]).
-export([init/1, callback_mode/0, terminate/3]).
-export_type([floor/0, direction/0]).

-define(DOOR_SECONDS, 4).
-define(LOG(Text, Arguments), ?LOG_INFO(Text, Arguments)).
-ifdef(TEST).
-define(TICK, 10).
-else.
-define(TICK, 1000).
-endif.

-type floor() :: integer().
-type direction() :: up | down | none.
-opaque handle() :: pid().

-record(data, {
    floor = 0 :: floor(),
    direction = none :: direction(),
    queue = [] :: [floor()],
    doors
}).
-record(passenger, {name, weight = 75}).

-callback arrived(floor(), direction()) -> ok | {stop, term()}.
-callback weigh(#passenger{}) -> number().

%% Starts an elevator that serves some floors.
-spec start_link(atom(), [floor()]) -> {ok, handle()}.
start_link(Name, Floors) ->
    gen_statem:start_link({local, Name}, ?MODULE, Floors, []).

%% Calls an elevator to a floor.
-spec call(handle(), floor()) -> ok.
call(Elevator, Floor) when is_integer(Floor) ->
    gen_statem:cast(Elevator, {call, Floor});
call(_Elevator, Floor) ->
    erlang:error(badarg, [Floor]).

position(Elevator) ->
    gen_statem:call(Elevator, position).

callback_mode() -> state_functions.

init(Floors) ->
    process_flag(trap_exit, true),
    First = hd(Floors),
    {ok, idle, #data{floor = First, doors = doors:new(?DOOR_SECONDS)}}.

idle(cast, {call, Floor}, #data{floor = Floor} = Data) ->
    ?LOG("already at ~p", [Floor]),
    {keep_state, open(Data)};
idle(cast, {call, Floor}, Data) ->
    Queue = enqueue(Floor, Data#data.queue),
    {next_state, moving, Data#data{queue = Queue}, [{state_timeout, ?TICK, step}]};
idle({call, From}, position, Data) ->
    reply(From, Data).

moving(state_timeout, step, Data) ->
    Next = step(Data),
    case member(Next#data.floor, Next#data.queue) of
        true ->
            Rest = [Floor || Floor <- Next#data.queue, Floor =/= Next#data.floor],
            arrive(Next#data{queue = Rest});
        false ->
            {keep_state, Next, [{state_timeout, ?TICK, step}]}
    end;
moving({call, From}, position, Data) ->
    reply(From, Data);
moving(cast, {call, Floor}, Data) ->
    {keep_state, Data#data{queue = enqueue(Floor, Data#data.queue)}}.

terminate(Reason, State, #data{floor = Floor}) ->
    io:format("stopped in ~p at ~p: ~p % not a comment~n", [State, Floor, Reason]),
    ok.

%% Internal functions.

arrive(#data{queue = []} = Data) ->
    {next_state, idle, open(Data)};
arrive(Data) ->
    {keep_state, open(Data), [{state_timeout, ?DOOR_SECONDS * ?TICK, step}]}.

step(#data{floor = Floor, queue = [Target | _]} = Data) when Target > Floor ->
    Data#data{floor = Floor + 1, direction = up};
step(#data{floor = Floor} = Data) ->
    Data#data{floor = Floor - 1, direction = down}.

enqueue(Floor, Queue) ->
    Sorted = usort([Floor | Queue]),
    Compare = fun(A, B) -> distance(A, Floor) =< distance(B, Floor) end,
    lists:sort(Compare, Sorted).

distance(A, B) -> abs(A - B).

open(Data) ->
    doors:open(Data#data.doors),
    Data.

reply(From, Data) ->
    {keep_state_and_data, [{reply, From, Data#data.floor}]}.

'weird name'(X) ->
    X;
'weird name'(_) ->
    $%.

-ifdef(TEST).
-include_lib("eunit/include/eunit.hrl").

enqueue_test() ->
    ?assertEqual([1, 2], enqueue(1, [2])),
    ?assertEqual(3, distance(1, 4)).
-endif.
