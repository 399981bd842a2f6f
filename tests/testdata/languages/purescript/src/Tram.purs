-- | Lines of trams and how they are drawn.
module City.Tram
  ( Line(..)
  , Stop
  , class Drawable
  , draw
  , route
  ) where

import Prelude

import Data.Array (head, snoc)
import Data.Maybe (Maybe(..), fromMaybe)
import Data.Map as Map
import City.Map.Layout (Layout, place) as Layout
import Effect (Effect)
import Effect.Console (log)

-- | A place where trams halt.
type Stop =
  { name :: String
  , zone :: Int
  , shelters :: Array Shelter
  }

type Name = String

newtype Shelter = Shelter { seats :: Int }

-- | A line with its stops, in order.
data Line
  = Line Name (Array Stop)
  | Night Line
  | Closed

data Direction = Outward | Inward

derive instance eqDirection :: Eq Direction
derive newtype instance showShelter :: Show Shelter

-- | What can be drawn on a map.
class Drawable a where
  draw :: Layout.Layout -> a -> String
  width :: a -> Int

instance drawableLine :: Drawable Line where
  draw layout (Line name stops) = name <> Layout.place layout (lengthOf stops)
  draw layout (Night line) = draw layout line
  draw _ Closed = ""
  width _ = 3

foreign import now :: Effect Number

foreign import data Canvas :: Type

-- | The stops that a line serves.
route :: Line -> Array Stop
route (Line _ stops) = stops
route (Night line) = route line
route Closed = []

lengthOf :: forall a. Array a -> Int
lengthOf stops = go 0 stops
  where
  go n [] = n
  go n rest = case head rest of
    Just _ -> n + 1
    Nothing -> n

-- The first stop, if there is one.
firstStop :: Line -> Maybe Stop
firstStop = route >>> head

zoneOf :: Line -> Int
zoneOf line = fromMaybe 0 do
  stop <- firstStop line
  let zone = stop.zone
  pure zone

opposite :: Direction -> Direction
opposite = case _ of
  Outward -> Inward
  Inward -> Outward

maxZone :: Int
maxZone = 4

addStop :: Stop -> Line -> Line
addStop stop line
  | stop.zone > maxZone = line
  | otherwise = case line of
      Line name stops -> Line name (snoc stops stop)
      Night inner -> Night (addStop stop inner)
      Closed -> Closed

infixr 5 addStop as :+

{- commented = out -}

main :: Effect Unit
main = do
  at <- now
  log ("route at " <> show at <> "; draw -- not a comment")
  log (show (zoneOf (Line "1" [])))
