(** Accounts, postings between them, and the balances that follow. *)

open Base

(** How an account behaves. *)
type side = Debit | Credit

type account = {
  code : string;
  title : string;
}

type t

exception Frozen of string

val empty : string -> t
(** A plan without accounts. *)

(** Adds an account. *)
val add : account -> t -> t

val ( >>= ) : ('a, 'e) result -> ('a -> ('b, 'e) result) -> ('b, 'e) result

external now : unit -> float = "ledger_now"

module Print : sig
  val width : int
  val all : t -> unit
end

module type STORE = sig
  type key
  val read : key -> string option
end

module Make (Store : STORE) : sig
  val post : t -> string -> unit
end

class reader : string -> object
  method position : string
end
