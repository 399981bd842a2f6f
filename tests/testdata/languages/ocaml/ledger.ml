(* Accounts, postings between them, and the balances that follow. *)

open Printf
open! Core.Std_internal
include Ledger_intf

module String_map = Map.Make (String)
module Money = Currency.Fixed

(** How an account behaves. *)
type side =
  | Debit
  | Credit
[@@deriving show, eq]

(** An account and its place in the plan. *)
type account = {
  code : string;  (** Unique. *)
  title : string;
  side : side;
  mutable closed : bool;
}

type 'a outcome = ('a, error) result

and error =
  | Unknown_account of string
  | Unbalanced of { debit : int; credit : int }
  | Closed of account

type posting = { account : account; amount : int }
type journal = posting list
type id = private int

exception Ledger_error of string
exception Frozen

let currency = "EUR"
let max_depth, min_depth = 12, 1
let _internal = ref 0
let default_accounts = [ "1000"; "2000" ]

let account ?(closed = false) ~title ~side code = { code; title; side; closed }

(** Returns the amount with its sign. *)
let signed posting =
  match posting.account.side with
  | Debit -> posting.amount
  | Credit -> -posting.amount

let rec depth code =
  let parent code =
    match String.rindex_opt code '.' with
    | None -> None
    | Some at -> Some (String.sub code 0 at)
  in
  match parent code with
  | None -> 1
  | Some above -> 1 + depth above

and is_leaf plan code = not (List.exists (fun other -> depth other > depth code) plan)

let total = List.fold_left (fun sum posting -> sum + signed posting) 0

let compare_codes = fun a b -> String.compare a.code b.code

let describe = function
  | Unknown_account code -> sprintf "no account %s" code
  | Unbalanced { debit; credit } -> sprintf "debit %d, credit %d" debit credit
  | Closed account -> account.title ^ " is closed"

let ( >>= ) result f = match result with Ok value -> f value | Error _ as error -> error
let ( let* ) = ( >>= )
let ( |+| ) a b = a + b

external now : unit -> float = "ledger_now" "ledger_now_unboxed" [@@noalloc]

module Plan = struct
  type t = { accounts : account String_map.t; name : string }

  let empty name = { accounts = String_map.empty; name }

  let add account plan =
    if account.closed then raise (Ledger_error account.code);
    { plan with accounts = String_map.add account.code account plan.accounts }

  let find plan code =
    match String_map.find_opt code plan.accounts with
    | Some account -> Ok account
    | None -> Error (Unknown_account code)

  module Print = struct
    let width = 40

    let line account = sprintf "%-*s %s" width account.title account.code
    let all plan = String_map.iter (fun _ account -> print_endline (line account)) plan.accounts
  end
end

(** Where journals are kept. *)
module type STORE = sig
  type t
  type key = string

  exception Missing of key

  val connect : string -> t
  val read : t -> key -> journal option

  (** Replaces what was there. *)
  val write : t -> key -> journal -> unit
end

module Make (Store : STORE) : sig
  val post : Store.t -> Plan.t -> string -> posting list -> unit outcome
end = struct
  let check postings =
    let debit, credit = List.partition (fun p -> p.account.side = Debit) postings in
    let debit = total debit and credit = -total credit in
    if debit = credit then Ok () else Error (Unbalanced { debit; credit })

  let post store plan key postings =
    let* () = check postings in
    let* _ = Plan.find plan key in
    let before = Option.value ~default:[] (Store.read store key) in
    Store.write store key (before @ postings);
    Ok ()
end

module Memory : STORE with type t = (string, journal) Hashtbl.t = struct
  type t = (string, journal) Hashtbl.t
  type key = string

  exception Missing of key

  let connect _name = Hashtbl.create 16
  let read = Hashtbl.find_opt
  let write = Hashtbl.replace
end

class virtual reader (path : string) =
  object (self)
    val mutable line = 0
    val buffer = Buffer.create 80

    method virtual parse : string -> posting option

    method position = sprintf "%s:%d" path line

    method private skip text =
      line <- line + 1;
      self#warn text

    method warn text = eprintf "%s: skipped %S\n" self#position text
  end

class csv_reader path plan =
  object
    inherit reader path

    method parse text =
      match String.split_on_char ';' text with
      | [ code; amount ] -> (
          match Plan.find plan code with
          | Ok account -> Some { account; amount = int_of_string amount }
          | Error _ -> None)
      | _ -> None
  end

class type printer = object
  method print : journal -> unit
  method flush : unit
end

let template = {sql|select total from describe where "quoted" |sql}

(* let commented_out = (* nested *) 3 *)

module Ledger = Make (Memory)

let run path =
  let store = Memory.connect path in
  let plan = Plan.(empty "default" |> add (account ~title:"cash" ~side:Debit "1000")) in
  let reader = new csv_reader path plan in
  let postings = List.filter_map reader#parse [ "1000;5" ] in
  match Ledger.post store plan "1000" postings with
  | Ok () -> Plan.Print.all plan
  | Error error -> prerr_endline (describe error)

let () =
  let first = Sys.argv.(1) in
  run first

let%test "depth counts the parts" = depth "1.2" = 2
