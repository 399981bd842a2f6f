module ShelfSpec (spec) where

import Test.Hspec

spec :: Spec
spec = do
  describe "Shelf" $ do
    it "is empty" $ do
      books `shouldBe` []

    context "with books" $ do
      prop "keeps their order" $ \xs ->
        sort xs == xs

  describe title $ do
    it "is in one without a title" $ pending

tests :: TestTree
tests = testGroup "shelves"
  [ testCase "has room" $ do
      room @?= 1
  , testProperty "never overflows" $ \n -> n < 10
  ]
