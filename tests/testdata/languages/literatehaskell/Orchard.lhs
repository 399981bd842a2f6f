\documentclass{article}
%include polycode.fmt
\begin{document}

\title{Harvests of an orchard}

\section{Trees}

The module begins with its extensions; \verb|data NotRead = NotRead| is only shown.

> {-# LANGUAGE GADTs, KindSignatures #-}
> {-# LANGUAGE TypeFamilies #-}
>
> {- | Trees and what they bear.
>
>    notRead :: Int
> -}
> module Orchard.Trees
>   ( Tree (..)
>   , Fruit (Apple, Pear)
>   , harvest
>   , module Orchard.Seasons
>   ) where
>
> import Control.Monad (forM_, unless)
> import qualified Data.Map.Strict as Map
> import Orchard.Seasons hiding (winter)
> import {-# SOURCE #-} Orchard.Owners (Owner)

A tree bears fruit of one kind.

> data Fruit = Apple | Pear | Plum { stone :: Bool }
>   deriving (Eq, Show)
>
> data Tree = Tree
>   { kind :: Fruit      -- ^ What it bears.
>   , age, height :: Int
>   , owner :: Maybe Owner
>   }
>
> newtype Basket a = Basket { contents :: [a] }
>
> type Row = [Tree]

\begin{spec}
data Shown = Shown
shown :: Shown -> Int
\end{spec}

\subsection{Counting}

% > commented :: Int -> Int

\begin{code}
-- | How many trees bear a fruit.
countOf :: Fruit -> Row -> Int
countOf fruit = length . filter ((== fruit) . kind)

infixr 5 <+>
(<+>) :: Basket a -> Basket a -> Basket a
Basket left <+> Basket right = Basket (left ++ right)

oldest, youngest :: Row -> Tree
oldest = foldr1 (\one other -> if age one > age other then one else other)
youngest row = head sorted
  where
    sorted = row
    unused :: Int
    unused = 1
\end{code}

\begin{verbatim}
notCode :: Int
\end{verbatim}

\section{Classes}

\begin{code}
class Monoid b => Bears a b | a -> b where
  type Season a
  fruits :: a -> b
  fruits _ = mempty

  ripeIn :: a -> Season a

instance Bears Tree (Basket Fruit) where
  type Season Tree = Int
  fruits tree = Basket [kind tree]
  ripeIn = age

instance Semigroup (Basket a) where
  (<>) = (<+>)

data Work :: * -> * where
  Prune :: Tree -> Work ()
  Pick  :: Tree -> Work Fruit

deriving instance Show (Work a)

type family Price a
type instance Price Fruit = Int
\end{code}

The harvest is a fold, and what is left is done by hand:

> harvest :: Row -> Map.Map String (Basket Fruit)
> harvest row = Map.fromListWith (<+>) [(show (kind tree), fruits tree) | tree <- row]
>
> report :: Row -> IO ()
> report row = do
>   let total = length row
>   unless (null row) $
>     forM_ row print
>   print total

\begin{code}
pattern Young :: Int
pattern Young = 1

foreign import ccall "math.h sin" c_sin :: Double -> Double

main :: IO ()
main = report []

{-
hidden :: Int
hidden = 1
-}

greeting :: String
greeting = "\
  \end{code} in a string \
  \stays"
\end{code}

\end{document}
