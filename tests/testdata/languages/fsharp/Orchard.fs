/// Trees of an orchard, and what they bear.
module Farm.Orchard

open System
open System.Collections.Generic
open Farm.Weather.Frost

/// The fruit of a tree.
type Fruit =
    | Apple of sort: string
    | Pear
    | Plum of sort: string * early: bool

[<Struct>]
type Place = { Row: int; Number: int }

// Somebody who picks.
type Picker =
    { Name: string
      mutable Baskets: int
      Rows: int list }

    member this.IsBusy = this.Baskets > 3
    member this.Take(count: int) =
        this.Baskets <- this.Baskets + count
    static member Nobody = { Name = ""; Baskets = 0; Rows = [] }

type Season =
    | Spring = 0
    | Summer = 1

type Weight = float<kg>
type Yield = Map<Place, float>

exception Frozen of Place * float

type ITree =
    abstract Fruit: Fruit
    abstract Prune: year: int -> bool

type Tree(place: Place, fruit: Fruit) =
    let mutable pruned = 0
    let history = List<int>()
    member _.Place = place
    member this.Age(year: int) : int = year - 2000
    member private this.Log(text: string) = printfn "%s at %A" text place
    interface ITree with
        member _.Fruit = fruit
        member this.Prune year =
            pruned <- year
            this.Log "pruned // not a comment"
            true

/// How much a tree bears in a year.
let expected (tree: Tree) year =
    let age = tree.Age year
    let grow factor = float age * factor
    match (tree :> ITree).Fruit with
    | Apple _ -> grow 12.0
    | Pear -> grow 9.0
    | Plum (_, early) when early -> grow 5.0
    | Plum _ -> grow 7.0

let private limit = 200
let [<Literal>] MaxRows = 40

let rec total trees year =
    match trees with
    | [] -> 0.0
    | tree :: rest -> expected tree year + total rest year

let inline square x = x * x

let (|Young|Old|) (tree: Tree) =
    if tree.Age 2020 < 10 then Young else Old

let describe = function
    | Young -> "young"
    | Old -> "old"

module Frost =
    let damage temperature =
        if temperature < -2.0 then square temperature else 0.0

    let check (tree: Tree) temperature =
        if damage temperature > float limit then
            raise (Frozen(tree.Place, temperature))

    module Alarms =
        let mutable count = 0
        let ring () = count <- count + 1

module Report =
    let line (tree: Tree) = $"{tree.Place.Row}: {describe tree}"

    let write (trees: Tree list) =
        trees |> List.map line |> String.concat "\n"

(* let commentedOut () = Report.write [] *)

[<EntryPoint>]
let main argv =
    let trees = [ for n in 1 .. MaxRows -> Tree({ Row = 1; Number = n }, Pear) ]
    trees |> List.iter (fun tree -> Frost.check tree -1.0)
    printfn "%f" (total trees 2024)
    0
