{-# LANGUAGE DataKinds, GADTs #-}
{-# LANGUAGE LambdaCase #-}
{-# LANGUAGE TypeFamilies #-}
{-# OPTIONS_GHC -Wall -Wno-orphans #-}
{-|
Module      : Music.Tuning
Description : Temperaments of keyboard instruments

data NotThis = NotThis
-}
module Music.Tuning where

import           Control.Monad.State.Strict  ( StateT(..), evalStateT
                                             , gets )
import           Data.Foldable               (for_, traverse_)
import qualified Data.Map.Strict             as Map
import           Data.Map.Strict             (Map)
import           Data.Ratio                  as R hiding ((%))
import "text"    Data.Text                   qualified as T
import {-# SOURCE #-} Music.Pitch            (Pitch, cents)

-- | An interval as a ratio.
newtype Interval = Interval { unInterval :: Rational }
  deriving stock   (Eq, Ord)
  deriving newtype (Num, Fractional)
  deriving (Semigroup, Monoid) via (Product Rational)

-- | How an octave is divided.
data Temperament
  = Equal !Int          -- ^ into equal steps
  | Just'               -- ^ by whole numbers
      { limit   :: {-# UNPACK #-} !Int
      , comma   :: Interval
      }
  | forall a. Show a => Custom a (Map String Interval)
  deriving anyclass (NFData)

data Nat = Z | S Nat

type role Vec nominal representational
data Vec (n :: Nat) a where
  Nil  :: Vec 'Z a
  (:>) :: a -> Vec n a -> Vec ('S n) a

infixr 5 :>
deriving instance Show a => Show (Vec n a)

data family Store k :: Type -> Type
newtype instance Store Int v = IntStore (Map Int v)

type Scale = [Interval]
type (~>) f g = forall x. f x -> g x

type family Size (t :: Temperament') = (r :: Nat) | r -> t where
  Size 'Empty = 'Z

class (Monad m, forall a. Show (m a)) => MonadTuner (m :: Type -> Type) where
  {-# MINIMAL play, (silence | rest) #-}
  type Voice m = v | v -> m
  data Stop m :: Type
  -- | Sounds a note.
  play :: Pitch -> m ()
  default play :: (MonadIO m) => Pitch -> m ()
  play = liftIO . print
  silence, rest :: m ()
  silence = rest
  rest = silence
  infixl 4 <:>
  (<:>) :: m a -> m b -> m b
  a <:> b = a >> b

instance MonadTuner IO where
  type Voice IO = Int
  data Stop IO = StopIO
  play p
    | cents p > 0 = putStrLn "high"
    | otherwise   = pure ()

instance {-# OVERLAPPING #-} Show Interval where
  showsPrec d (Interval r) = showParen (d > 10) $ showString "Interval " . showsPrec 11 r

deriving stock instance Eq a => Eq (Store Int a)

-- | The circle of fifths.
--
-- >>> length (fifths 12)
-- 12
fifths :: Int -> Scale
fifths n = take n $ iterate up 1
  where
    up :: Interval -> Interval
    up i | i >= 2    = i / 2
         | otherwise = i * fifth
    fifth = Interval (3 R.% 2)

tune
  :: forall m a
   . (MonadTuner m, Show a)
  => Temperament
  -> (a -> m ())   -- ^ what to do with each
  -> [a]
  -> m ()
tune t f = \case
  []       -> silence
  (x : xs) -> do
    let go y = f y
    go x *> tune t f xs

-- * Operators

infixl 6 |+|
(|+|), (|-|) :: Interval -> Interval -> Interval
Interval a |+| Interval b = Interval (a * b)
(|-|) (Interval a) (Interval b) = Interval (a / b)

pattern Octave, Unison :: Interval
pattern Octave = Interval 2
pattern Unison <- ((== 1) . unInterval -> True)
  where Unison = Interval 1

wolf' :: Interval
wolf' = -- the bad one
  let a = 2 ^^ (7 :: Int); b = (3/2) ^^ (12 :: Int) in Interval (a / b)

banner :: String
banner = "data Fake = Fake\n\
         \fake :: Int"

{-# SPECIALIZE average :: [Double] -> Double #-}
{-# INLINABLE average #-}
average :: (Fractional a) => [a] -> a
average xs | null xs = 0
average xs = sum xs / fromIntegral (length xs)

foreign export ccall hs_tune :: Int -> IO ()
hs_tune :: Int -> IO ()
hs_tune = print

main :: IO ()
main = do { for_ (fifths 12) print; traverse_ print ["a"] }
