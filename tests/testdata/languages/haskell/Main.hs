import System.IO

data Flag = On | Off

broken :: Int ->
broken = = (

main :: IO ()
main = print (f On)
  where f _ = 1

after x
  | x > 1 = 2
  | otherwise = 3
