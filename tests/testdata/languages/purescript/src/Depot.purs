{- | A depot of trams.
   module NotThis where
-}
module City.Depot where

import Prelude hiding (between)
import Control.Monad.State (StateT, class MonadState, modify_)
import Data.Foldable as F
import Data.Foldable (foldl, for_) as F
import Data.Generic.Rep (class Generic)
import Data.Tuple (Tuple(..), type (/\), (/\))
import Type.Row (type (+))

-- | Number of a track.
newtype Track = Track Int

newtype Yard (m :: Type -> Type) a = Yard (m a)

type Numbered r = ( number :: Int | r )
type Depot =
  { tracks :: Array Track
  , "quoted field" :: String
  , inner ::
      { open :: Boolean
      , closes :: Maybe Int
      }
  }
type Handler a = forall m. MonadEffect m => a -> m Unit

data Wagon a
  = Motor { power :: Number, axles :: Int }
  | Trailer
      String
      a
  | Empty

data Proxy :: forall k. k -> Type
data Proxy a = Proxy

data Void
data List a = Nil | Cons a (List a)

infixr 6 Cons as :
infixl 4 type Either as \/
infix 5 F.foldl as |>

derive instance Generic (Wagon a) _
derive instance eqWagon :: Eq a => Eq (Wagon a)
derive newtype instance Show Track
derive instance Newtype Track _

instance Show a => Show (Wagon a) where
  show = case _ of
    Motor _ -> "motor"
    Trailer name _ -> name
    Empty -> "instance Show NotThis where"

instance showYard :: (Show (m a), Monad m) => Show (Yard m a) where
  show (Yard inner) = show inner

else instance showOther :: Show (Other a) where
  show _ = "other"

class (Monad m, Functor m) <= MonadDepot m where
  store :: forall a. Wagon a -> m Unit
  open :: Track -> m Boolean
  close
    :: Track
    -> m Boolean

class Convert a b | a -> b, b -> a where
  convert :: a -> b

class Marker a

type role Yard representational nominal

foreign import data Engine :: Type -> Type
foreign import startEngine :: forall a. Engine a -> Effect Unit
foreign import stopEngineImpl
  :: Fn2 String (Engine Unit)
       (Effect Unit)

-- | Moves a wagon
-- | to another track.
moveWagon
  :: forall m a
   . MonadState Depot m
  => Show a
  => Wagon a
  -> Track
  -> m Unit
moveWagon wagon (Track n) = do
  let
    shown = show wagon
    helper :: Int -> Int
    helper x = x + n
    between a b = a <= b
  modify_ \depot -> depot { tracks = depot.tracks <> [ Track (helper n) ] }
  case wagon of
    Motor { power } | power > 3.0 -> pure unit
                    | otherwise -> pure unit
    _ -> pure unit
  where
  unused :: String
  unused = "moveWagon = 3"

  alsoLocal x = x

power' :: Number -> Number
power' x | x > 0.0, Just y <- half x = y
         | otherwise = 0.0

half :: Number -> Maybe Number
half 0.0 = Nothing
half x = Just (x / 2.0)

-- between two definitions
count = 3 :: Int

infixOperator :: Int -> Int -> Int
infixOperator a b = a `div` b

(<+>) :: Depot -> Depot -> Depot
(<+>) a b = a { tracks = a.tracks <> b.tracks }

_tracks :: Lens' Depot (Array Track)
_tracks = prop (Proxy :: _ "tracks")

typed :: Array (forall a. a -> a) -> Int
typed = const 1

text :: String
text = """
data InAString = InAString
inAString = 1
"""

unsafe :: Partial => Int
unsafe = unsafePartial $ fromJust Nothing

{- multi-line = 1
{- nested = 2 -}
stillComment = 3 -}

spec :: Spec Unit
spec = describe "Depot" do
  it "moves wagons" do
    1 `shouldEqual` 1
  describe "inner" $ it "is closed" do
    pure unit
