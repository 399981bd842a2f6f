port module Chess.Board exposing
    ( Board
    , Msg(..)
    , init
    , update
    , view
    )

{-| A board on which two people play. -}

import Browser
import Chess.Clock as Clock exposing (Clock)
import Chess.Move exposing (Move(..), Square, isLegal)
import Dict exposing (Dict)
import Html exposing (..)
import Json.Decode as Decode



-- TYPES


{-| What is on the squares, and whose turn it is.
-}
type alias Board =
    { squares : Dict Square Piece
    , turn : Colour
    , clock : Clock
    , history : List Move
    }


type alias Flags =
    { minutes : Int }


type Colour
    = White
    | Black


{-| A piece of one colour.
-}
type Piece
    = Pawn Colour
    | Rook Colour { hasMoved : Bool }
    | King Colour


type Msg
    = Clicked Square
    | Received (Result Decode.Error Move)
    | Ticked Int
    | Resigned


type Selection a
    = None
    | Some a



-- PORTS


port sendMove : String -> Cmd msg


port receiveMove : (Decode.Value -> msg) -> Sub msg



-- UPDATE


size : Int
size =
    8


init : Flags -> ( Board, Cmd Msg )
init flags =
    ( { squares = start
      , turn = White
      , clock = Clock.start flags.minutes
      , history = []
      }
    , Cmd.none
    )


start : Dict Square Piece
start =
    let
        row number piece =
            List.map (\column -> ( ( column, number ), piece )) (List.range 1 size)

        pawns =
            row 2 (Pawn White) ++ row 7 (Pawn Black)
    in
    Dict.fromList pawns


{-| Applies a message.
-}
update : Msg -> Board -> ( Board, Cmd Msg )
update msg board =
    case msg of
        Clicked square ->
            ( select square board, Cmd.none )

        Received (Ok move) ->
            ( play move board, Cmd.none )

        Received (Err error) ->
            ( board, sendMove (Decode.errorToString error) )

        Ticked seconds ->
            ( { board | clock = Clock.tick seconds board.clock }, Cmd.none )

        Resigned ->
            ( { board | turn = other board.turn }, sendMove "resigned -- not a comment" )


select : Square -> Board -> Board
select square board =
    case Dict.get square board.squares of
        Just _ ->
            board

        Nothing ->
            { board | history = board.history }


play : Move -> Board -> Board
play move board =
    if isLegal move then
        { board | history = move :: board.history, turn = other board.turn }

    else
        board


other : Colour -> Colour
other colour =
    case colour of
        White ->
            Black

        Black ->
            White


infinite =
    1 / 0



-- VIEW


view : Board -> Html Msg
view board =
    div []
        [ h1 [] [ text (describe board) ]
        , ul [] (List.map viewMove board.history)
        ]


viewMove : Move -> Html msg
viewMove move =
    li [] [ text (Debug.toString move) ]


describe : Board -> String
describe { turn, history } =
    let
        name =
            if turn == White then
                "White"

            else
                "Black"
    in
    name ++ " after " ++ String.fromInt (List.length history)


{- main2 = commented out -}


subscriptions : Board -> Sub Msg
subscriptions _ =
    Sub.batch
        [ receiveMove (Decode.decodeValue Chess.Move.decoder >> Received)
        , Clock.every Ticked
        ]


main : Program Flags Board Msg
main =
    Browser.element
        { init = init
        , update = update
        , view = view
        , subscriptions = subscriptions
        }
