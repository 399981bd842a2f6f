port module Garden.Planner exposing
    ( Bed, Flags, Model, Msg(..), Plant(..)
    , bedAt, decoder, init, main
    , subscriptions, update, view
    )

{-| Plans what grows where.

    planned : Int -> String
    planned x =
        "in documentation"

@docs Bed, Plant

-}

import Array exposing (Array)
import Browser
import Browser.Events as Events exposing (onKeyDown)
import Dict exposing (Dict)
import Garden.Season as Season exposing (Season(..), (|=))
import Html exposing (Html, button, div, text)
import Html.Attributes
import Json.Decode as D exposing (Decoder)
import Json.Encode


-- PORTS


port save : Json.Encode.Value -> Cmd msg


{-| What other tabs changed.
-}
port changes : (Json.Encode.Value -> msg) -> Sub msg



-- MODEL


type alias Flags =
    { width : Int, locale : Maybe String }


{-| A bed of one kind of soil.
-}
type alias Bed =
    { id : BedId
    , plants : Array Plant
    , soil :
        { acidity : Float
        , notes : List String
        }
    , water : Season -> Float -- litres a week
    }


type alias Named a =
    { a | name : String }


type alias Point =
    ( Float, Float )


type BedId
    = BedId Int


{-| What can be planted.
-}
type Plant
    = Vegetable { name : String, days : Int }
    | Herb String (List Season)
    | -- not everybody likes it
      Flower
        { name : String
        }
        Color
    | Nothing_


type Tree comparable v
    = Leaf
    | Node (Tree comparable v) comparable v (Tree comparable v)


type Model
    = Loading
    | Ready (Dict Int Bed) Selection
    | Failed D.Error


type Selection = None | One BedId | Many (List BedId)


type Color = Red|Green|Custom Int Int Int


type Msg
    = GotBeds (Result D.Error (List Bed))
    | Selected Selection
    | KeyPressed String
    | Tick Int


init : Flags -> ( Model, Cmd Msg )
init { width, locale } =
    ( Loading, Cmd.none )


main : Program Flags Model Msg
main =
    Browser.element
        { init = init
        , update = update
        , subscriptions = subscriptions
        , view = view
        }



-- UPDATE


update : Msg -> Model -> ( Model, Cmd Msg )
update msg model =
    case ( msg, model ) of
        ( GotBeds (Ok beds), _ ) ->
            let
                byId : Dict Int Bed
                byId =
                    List.foldl insert Dict.empty beds

                insert bed =
                    Dict.insert (idOf bed.id) bed

                ( first, rest ) =
                    ( List.head beds, List.drop 1 beds )
            in
            ( Ready byId None, save (encode byId) )

        ( GotBeds (Err error), _ ) ->
            ( Failed error, Cmd.none )

        ( Selected selection, Ready beds _ ) ->
            ( Ready beds selection, Cmd.none )

        _ ->
            ( model, Cmd.none )


idOf : BedId -> Int
idOf (BedId id) = id


bedAt : Point -> Dict Int Bed -> Maybe Bed
bedAt ( x, y ) =
    Dict.values >> List.filter (covers x y) >> List.head


covers x y bed =
    Array.length bed.plants > round (x * y)


append : List a -> List a -> List a
append xs ys =
    xs ++ ys


{-| Litres for all beds. -}
total : Season -> List Bed -> Float
total season beds =
    beds
        |> List.map (\bed -> bed.water season)
        |> List.sum


encode : Dict Int Bed -> Json.Encode.Value
encode _ =
    Json.Encode.string """
type Fake = InText
fake : Int
fake = 1
"""


decoder : Decoder Bed
decoder =
    D.map4 Bed
        (D.field "id" (D.map BedId D.int))
        (D.succeed Array.empty)
        (D.succeed { acidity = 6.5, notes = [] })
        (D.succeed (always 0))


{- type Commented = Out {- nested -}
   commented = 2
-}
subscriptions : Model -> Sub Msg
subscriptions model =
    Sub.batch
        [ changes (D.decodeValue (D.list decoder) >> GotBeds)
        , onKeyDown (D.map KeyPressed (D.field "key" D.string))
        ]


view : Model -> Html Msg
view model =
    let
        label = if model == Loading then "…" else "\"type\" | 'x'"
    in
    div [ Html.Attributes.class "garden" ]
        [ button [] [ text label ]
        ]


origin : Point
origin =
    ( 0, 0 )


tau =
    2 * pi
