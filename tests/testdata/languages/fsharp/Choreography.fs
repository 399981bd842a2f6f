namespace rec Stage.Choreography

#nowarn "40"
#if INTERACTIVE
#r "nuget: FSharp.Data"
#load "Steps.fsx"
#endif

open System
open System.Threading.Tasks
open type System.Math
open FSharp.Control.Reflection.``Odd Name``

/// <summary>A beat of the music.</summary>
/// let notCode = 1
[<Measure>] type beat
[<Measure>]
type bpm = beat / minute

[<Struct; CustomEquality; NoComparison>]
type Position =
    { X: float
      Y: float
      /// Where the dancer looks.
      [<DefaultValue>] mutable Facing: Facing }

    static member Origin = { X = 0.; Y = 0.; Facing = North }
    static member (+) (a: Position, b: Position) = { a with X = a.X + b.X }
    member p.Distance(other: Position) : float =
        let dx = p.X - other.X
        sqrt (dx * dx)
    override p.Equals(other) = false
    override _.GetHashCode() = 0
    interface IComparable with
        member p.CompareTo(other: obj) = 0

[<RequireQualifiedAccess>]
type Facing =
    | North
    | South
    | Turned of degrees: float * by: Dancer option
    with
        member this.Opposite =
            match this with
            | North -> South
            | other -> other
        static member Parse(text: string) = if text = "N" then North else South

and Dancer = { Name: string; Partner: Dancer option }

and [<AbstractClass; AllowNullLiteral>] Figure<'Step when 'Step :> IStep and 'Step: equality>
    (name: string, ?length: int) as this =
    inherit FigureBase(name)

    let mutable started = false
    let length = defaultArg length 8
    static let registry = System.Collections.Generic.Dictionary<string, obj>()
    do
        registry.[name] <- box this
    let helper x = x + length

    new() = Figure<'Step>("empty")
    new(other: string, steps: 'Step list) =
        Figure<'Step>(other, steps.Length)

    abstract member Steps: 'Step list with get
    abstract Perform: dancer: Dancer -> at: Position -> Task<Position>
    default this.Perform dancer at = Task.FromResult at
    member val Tempo = 120<bpm> with get, set
    member this.Length
        with get () = length
        and set (value: int) = started <- value > 0
    member this.Item with get (index: int) = this.Steps.[index]
    static member Create<'T>(name: string): 'T = Unchecked.defaultof<'T>
    [<CompiledName("Rest")>]
    member private this.Rest() = ()
    member inline internal _.Twice f x = f (f x)
    static member val Count = 0 with get, set
    [<CLIEvent>]
    member this.Finished = finished.Publish

type IStep =
    inherit IDisposable
    abstract Weight: float
    abstract Count: unit -> int

type Handler = delegate of obj * EventArgs -> unit
type Callback<'a> = 'a -> unit
type Tempo =
    | Slow = 60
    | Fast = 0xB4

type Shape = Line | Circle of float | Diagonal of from: Position * ``to``: Position

type internal Marker = class end
type Alias = Map<string, (int * float) list>

[<Class>]
type Floor private (width: int) =
    member _.Width = width
    interface IStep with
        member _.Weight = 1.0
        member _.Count() = 1
        member _.Dispose() = ()

type Floor with
    member this.Area = this.Width * this.Width

exception Collision of first: Dancer * second: Dancer with
    override this.Message = "collision"

[<AutoOpen>]
module Operators =
    let (>=>) f g = fun x -> g (f x)
    let inline (|Even|Odd|) n = if n % 2 = 0 then Even else Odd
    let (|Prefix|_|) (prefix: string) (text: string) =
        if text.StartsWith prefix then Some(text.Substring prefix.Length) else None
    let (~~) x = not x

[<CompilationRepresentation(CompilationRepresentationFlags.ModuleSuffix)>]
module Figure =
    let [<Literal>] Longest = 64
    let mutable private counter = 0
    let defaults, extras = [ 1; 2 ], []
    let ``a name with spaces`` = "let inString x = x"
    let text = """
let inTriple x = x
type InTriple = int
"""
    let verbatim = @"module ""NotAModule"" ="

    /// Applies a function to each step.
    let rec iterate
        (visit: int -> Dancer -> unit)
        (dancers: Dancer list)
        : unit =
        match dancers with
        | [] -> ()
        | first :: rest ->
            let visitFirst () = visit 0 first
            visitFirst ()
            skip visit rest

    and skip visit dancers = iterate visit dancers

    let compose<'a, 'b> (f: 'a -> 'b) : 'a -> 'b = f

    let load (path: string) = async {
        let! text = File.ReadAllTextAsync path |> Async.AwaitTask
        use reader = new StringReader(text)
        let parse (line: string) =
            match line.Split ',' with
            | [| name; Prefix "x" rest |] -> Some(name, rest)
            | _ -> None
        return parse text
    }

    let perform = fun dancer position -> position
    let memo = lazy (counter + 1)

    module private Internal =
        let table = dict [ "a", 1 ]
        type Node = { Left: Node option }

    (* let commented x = x
       (* nested *) type Commented = int *)

    let private builder =
        { new IStep with
            member _.Weight = 2.0
            member _.Count() = 2
          interface IDisposable with
            member _.Dispose() = () }

type StepBuilder() =
    member _.Bind(x, f) = f x
    member _.Return x = x
    [<CustomOperation("turn")>]
    member _.Turn(state, degrees: float) = state

module Tests =
    open Xunit

    [<Fact>]
    let ``a dancer keeps the partner`` () =
        let dancer = { Name = "Ada"; Partner = None }
        Assert.Null dancer.Partner

    [<Theory>]
    [<InlineData(1)>]
    let lengthIsKept (n: int) = Assert.Equal(n, n)

    let tests =
        testList "figures" [
            testCase "is empty" <| fun () -> Expect.equal 1 1 "same"
        ]

module Program =
    [<EntryPoint>]
    let main argv =
        printfn $"dances: {argv.Length} // not a comment"
        0
