(** Tunes instruments by ear.

    {[ let not_code = 1 ]} *)

[@@@warning "-32"]

open! Base
open Stdio
module F = Stdlib.Float
module type Instrument = Instrument_intf.S
module Notes : Notes_intf.Notes with type t = int = Notes

type pitch = private float [@@unboxed]
type +'a tagged = { tag : string; value : 'a }
type ('k, 'v) table = ('k * 'v) list

type _ expr =
  | Int : int -> int expr
  | Bool : bool -> bool expr
  | If : bool expr * 'a expr * 'a expr -> 'a expr
  | Pair :
      { first : 'a expr
      ; second : 'b expr
      }
      -> ('a * 'b) expr

type event = ..
type event += Plucked of { string_ : int; force : float } | Muted
type colour = [ `Bright | `Dark of int | `Mixed of colour list ]
type handler = { on_event : 'e. event -> 'e option; mutable count : int }
type nonrec string_ = string_ list
and abstract

exception Out_of_range of pitch * string [@deprecated "use result"]
exception Broken = Not_found

let pi = 4. *. F.atan 1.
let a4, half_step = (440., 2. ** (1. /. 12.))
let { tag; value } = { tag = "la"; value = 440 }
let (_ : int) = 3
let _unused = ()
let lazy_table = lazy (Array.make 12 0.)

(* "a string in a comment with *) inside" let commented = 1 *)
let quoted = {|let in_string x = x|}
let quoted' = {ext|module Not = struct end|ext}

(** Cents between two pitches. *)
let cents ~(from : float) ?(base = a4) ?label () : float =
  let ratio = from /. base in
  let rec go acc = function
    | 0 -> acc
    | n when n < 0 -> go acc (-n)
    | n -> go (acc +. 1.) (n - 1)
  in
  ignore label;
  1200. *. F.log2 ratio +. go 0. 0

let rec even n = n = 0 || odd (n - 1)
and odd = function 0 -> false | n -> even (n - 1)

let eval : type a. a expr -> a = fun expr -> assert false
let poly : 'a. 'a -> 'a = fun x -> x
let compose = Fn.compose
let handler = { on_event = (fun _ -> None); count = 0 }
let make_counter () =
  let count = ref 0 in
  object
    method next = incr count; !count
  end

let ( +: ) = ( +. )
let ( .%[] ) table i = List.nth table i
let ( let+ ) x f = Option.map x ~f
and ( and+ ) a b = Option.both a b
let[@inline always] fast x = x + 1
let%expect_test "prints cents" =
  print_endline "0";
  [%expect {| 0 |}]

external ( ^^ ) : string -> string -> string = "tuner_concat"
external unsafe_pitch : float -> pitch = "%identity"

module type COMPARABLE = sig
  type t [@@deriving sexp]

  val compare : t -> t -> int
  val ( < ) : t -> t -> bool

  module Infix : sig
    val ( <=> ) : t -> t -> int
  end

  include Hashable with type t := t
end

module Make_range (Note : COMPARABLE) (Limits : sig
  val low : Note.t
  val high : Note.t
end) =
struct
  type t = Note.t list

  module Note = Note

  let contains t note = List.mem t note ~equal:(fun a b -> Note.compare a b = 0)
  let empty : t = []
end

module rec Tree : sig
  type t = Leaf | Node of Forest.t
end = struct
  type t = Leaf | Node of Forest.t
end

and Forest : sig
  type t = Tree.t list
end = struct
  type t = Tree.t list
end

module Strings = struct
  include List

  module T = struct
    type t = string [@@deriving compare]

    let hash = Hashtbl.hash
  end

  include T
  open struct
    let hidden = 1
  end

  let pluck t i = List.nth t i + hidden
end

module Applied = Make_range (Int) (struct
  let low = 0
  let high = 127
end)

module Local = (val (module Strings : COMPARABLE) : COMPARABLE)

class type ['a] observer = object
  inherit printer
  method notify : 'a -> unit
  val mutable seen : int
end

class virtual ['a] instrument ~name (strings : 'a list) =
  let count = List.length strings in
  object (self : 'self)
    val name : string = name
    val mutable virtual tension : float
    val! overridden = 3
    method virtual pluck : int -> 'a
    method name = name
    method! to_string = self#name ^ Int.to_string count
    method private tighten by = tension <- tension +. by
    method map : 'b. ('a -> 'b) -> 'b list = fun f -> List.map strings ~f
    initializer printf "made %s\n" name
  end

and guitar = object
  inherit [string] instrument ~name:"guitar" [] as super
  val mutable tension = 1.
  method pluck i = super#name ^ Int.to_string i
end

let play (type a) (module I : Instrument with type t = a) (it : a) =
  let module R = struct
    let inner = 1
  end in
  let open F in
  match I.strings it with
  | [] -> ()
  | exception Not_found -> ()
  | first :: _ ->
    let step = R.inner in
    I.pluck it first step

let () =
  let main () =
    let handler = make_counter () in
    handler#next
  in
  ignore (main ())

let%test_unit "a4 is the base" = assert (Float.equal (cents ~from:a4 ()) 0.)
let%test_module "range" = (module struct
  let%test "is empty" = List.is_empty Applied.empty
end)
;;

if pi > 3. then print_endline "fine"
