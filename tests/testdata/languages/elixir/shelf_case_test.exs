defmodule Library.ShelfCaseTest do
  use ExUnit.Case

  describe "take/1" do
    setup [:shelf]

    test "gives a book", %{shelf: shelf} do
      assert shelf
    end

    @tag :slow
    property "never gives two" do
      check all n <- integer() do
        assert n == n
      end
    end

    test "of #{inspect(:computed)}" do
    end
  end

  test "without a group" do
    defmodule Inner do
      def run, do: 1
    end
  end

  test "is still to be written"
end
