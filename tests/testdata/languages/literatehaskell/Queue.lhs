% A queue in two lists.

\documentclass{article}
\begin{document}

\section{Queues}

A queue keeps its front in order and its back reversed.

\begin{code}
module Data.Queue
  ( Queue
  , empty
  , push
  , pop
  ) where

import qualified Data.List as List
import Data.Maybe (fromMaybe)

-- | A queue of items.
data Queue a = Queue
  { front :: [a]
  , back  :: [a]
  }
\end{code}

Nothing is in the empty queue:

\begin{code}
empty :: Queue a
empty = Queue [] []
\end{code}

Items are pushed to the back, notRead :: Int in this line.

> push :: a -> Queue a -> Queue a
> push item queue = queue { back = item : back queue }

Popping takes from the front, which is made of the back if it is empty:

> pop :: Queue a -> Maybe (a, Queue a)
> pop (Queue [] []) = Nothing
> pop (Queue [] items) = pop (Queue (List.reverse items) [])
> pop (Queue (first : rest) items) = Just (first, Queue rest items)

\subsection{Conversions}

\begin{code}
class Container f where
  toItems :: f a -> [a]

instance Container Queue where
  toItems queue = front queue ++ List.reverse (back queue)

firstOr :: a -> Queue a -> a
firstOr other = fromMaybe other . fmap fst . pop

type Jobs = Queue String
\end{code}

\begin{code}
fromItems :: [a] -> Queue a
fromItems = foldr push empty
