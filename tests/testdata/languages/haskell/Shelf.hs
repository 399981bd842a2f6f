{-# LANGUAGE CPP #-}
{-# LANGUAGE TypeFamilies #-}

-- | Shelves and what stands on them.
--
-- Not shown.
module Library.Shelf
  ( -- * Shelves
    Shelf (..)
  , Size (Small, sizeOf)
  , Opaque
  , Stored (put, Key)
  , newShelf, (<+>)
  , module Library.Book
  , pattern Empty
  ) where

import Data.List
import qualified Data.Map as M
import Data.Text (Text, pack, Builder (..), (<>))
import Data.Char hiding (isAlpha)
import qualified Data.Set
import Library.Book ()
import Control.Monad as Monad (forM_)
#if MIN_VERSION_base(4,9,0)
import Data.Kind (Type)
#endif

-- | Makes a shelf.
newShelf :: Text -> Int -> Shelf a
newShelf name 0 = Shelf name []
-- The usual case.
newShelf name n = go n
  where
    go :: Int -> Shelf a
    go _ = Shelf name []

width, height :: Int
width = 80
height = 200

untyped = let x = 1 in x

-- | Joins two.
{-# INLINE (<+>) #-}
(<+>) :: Shelf a
      -> Shelf a
      -> Shelf a
a <+> b = a
infixl 5 <+>

-- | Splits two.
split
  :: Shelf a
  -> Shelf a
  -> (Shelf a, Shelf a)
split a b =
  (a, b)

x `above` y = x
(f . g) x = f (g x)
(low, high) = (1, 2)

data Shelf a = Shelf
  { -- | What it is called.
    label :: Text
  , books, loans :: [a]   -- ^ What stands on it.
  } deriving stock (Show)

-- How large.
data Size
  = Small Int   -- ^ fits a bag
  | Large { sizeOf :: !Int }
  | Int :*: Int
  deriving (Eq, Ord)

newtype Opaque = MkOpaque { getOpaque :: Int } deriving newtype Show
type Row = [Int]

data Term a where
  IntT  :: Int -> Term Int
  If, Unless :: { cond :: Term Bool } -> Term a

-- | What can be stored.
class (Eq a) => Stored a where
  type Key a :: Type
  -- | Puts it away.
  put :: a -> IO ()
  put _ = pure ()
  get, peek :: Key a -> IO a
  {-# MINIMAL get #-}

instance Stored Int where
  type Key Int = Int
  get = pure
  put 0 = pure ()
  put n = print n

instance (Show a, Stored a) => Stored (Maybe a) where
  get = undefined

instance Stored [a]
deriving via Int instance Show (Term a)

type family Elem c where
  Elem [a] = a

pattern Empty :: Shelf a
pattern Empty <- Shelf _ []

foreign import ccall "math.h sin" c_sin :: Double -> Double

newline :: Char -> Bool
newline c = c == '\n'

newline' :: Int
newline' = 1

#ifdef WINDOWS
separator :: Char
separator = '\\'

onlyHere :: Int
onlyHere = 1
#else
separator :: Char
separator = '/'
#endif

makeLenses ''Shelf
