(** The timetable of a ferry line: crossings, berths and the tide that they wait for.

    {1 Types}

    [val not_a_value : int] is written here only. *)

[@@@ocaml.warning "-32"]
[@@@deprecated "use Timetable"]

open! Base
open Ferry_types.Tide

module Berth = Ferry_types.Berth
module B := Ferry_types.Buoy
module type S = module type of Ferry_types.Signal
module Map : Map.S with type key = int

(* val commented : unit -> unit
   (* type nested = comment *)
*)

(** {2 Crossings} *)

type crossing = private {
  number : int;  (** from 1 *)
  mutable delay : float [@default 0.]; mutable cancelled : bool;
  from_berth : Berth.t;
  on_change : 'a. 'a -> unit;
  notes : (string * string list) list;
}
[@@deriving sexp, compare]

and direction =
  | Outward
  | Inward of { reason : string; since : float }
  | Stay : int -> direction  (** GADT syntax *)
  | ( :: ) of int * direction
  | (* between *) Charter of (string [@secret]) * [ `Day | `Night of int ]

and 'a with_tide = 'a * float

type (+'a, -'b) arrow = 'a -> 'b constraint 'a = < crossing : int; .. >
type nonrec direction_list = direction list
type abstract [@@immediate]
type 'a t = 'a list = [] | ( :: ) of 'a * 'a list
type extensible = ..
type extensible += Fog of float | Storm
type colour = [ `Red | `Green of int ]
type any_colour = [> colour ]
type point = { x : int; y : int } type pair = int * int
type empty = |
type 'a boxed = Box of 'a [@@unboxed]
type +!'a injective
type _ term =
  | Int : int -> int term
  | Pair : 'a term * 'b term -> ('a * 'b) term
  | If : { cond : bool term; yes : 'a term; no : 'a term } -> 'a term

exception Sunk
exception Late of string * float [@@deprecated]
exception Aground of { berth : int; tide : float }

(** {2 Values} *)

val first : crossing
val find : ?after:float -> number:int -> t:'a t -> unit -> (crossing, [> `Not_found ]) result
(** [find] has an argument that is named like a keyword of another language.

    {[ val in_documentation : int ]} *)

val ( + ) : crossing -> float -> crossing
val ( .%{} ) : 'a t -> int -> 'a
val ( let* ) : 'a option -> ('a -> 'b option) -> 'b option
val ( and+ ) : 'a option -> 'b option -> ('a * 'b) option
val (!) : 'a ref -> 'a
val ( mod ) : int -> int -> int
val ( ||> ) : 'a -> ('a -> 'b) -> 'b
val x : int val y : int
val long_name'
  :  first:int
  -> second:string (* val hidden : int *)
  -> (int -> string)
  -> unit
  [@@ocaml.doc "val fake : int"]

val polymorphic : 'a 'b. 'a -> 'b -> 'a
val labelled : (module S with type t = int) -> (int, string) Hashtbl.t
val%private secret : int

external time : unit -> (float [@unboxed]) = "ferry_time_byte" "ferry_time" [@@noalloc]
external ( = ) : 'a -> 'a -> bool = "%equal"

(** {2 Modules} *)

module Tide : sig
  (** The height of the water. *)
  type t = float

  val at : float -> t
  val high : t -> bool

  module Table : sig
    type row = { hour : int; height : t }
    val rows : row list
    exception Missing of int
  end

  module type SOURCE = sig
    val fetch : string -> Table.row list
  end
end

module type STATION = sig
  type key
  type 'a value = private 'a
  val read : key -> 'a value option
  include Stdlib.Map.OrderedType with type t := key
  module Cache : sig val clear : unit -> unit end
end

module type ABSTRACT
module type FULL = sig
  include STATION
  val write : key -> 'a value -> unit
end
with type key = string

module Make (Station : STATION) (Clock : sig val now : unit -> float end) : sig
  type t
  val create : Station.key -> t
end

module Make_generative () : S
module Functor : functor (X : STATION) -> STATION with type key = X.key
module rec Even : sig
  type t = Zero | Next of Odd.t
end
and Odd : sig
  type t = Next of Even.t
end

include module type of struct include Ferry_types.Common end
include sig
  val included : int
end

(** {2 Objects} *)

class type vessel = object ('self)
  inherit named
  val mutable knots : float
  val virtual draught : float
  method name : string
  method private secret : int
  method virtual sail : crossing -> 'self
  method with_crew : 'a. 'a list -> 'self
  constraint 'self = < name : string; .. >
end

class ['a] queue : ?size:int -> unit -> object
  val mutable items : 'a list
  method push : 'a -> unit
  method pop : 'a option
end

class virtual engine : object
  method virtual start : unit
end
and diesel : int -> engine

class type ['a] container = object method get : 'a end
class closed : vessel

[%%if ocaml_version >= (5, 0, 0)]
val domains : int
[%%endif]

val quoted : string [@@doc {|val in_quotes : int|}]
val last : unit -> unit
