defmodule Library.ShelfTest do
  use ExUnit.Case, async: true

  @moduletag :slow

  defmodule FakeStore do
    def get(_), do: nil
  end

  describe "put/2" do
    alias Library.Book

    test "adds a book" do
      assert 1 == 1
    end

    defp build(attrs) do
      struct(Book, attrs)
    end
  end

  def broken( do
  end

  def after_error, do: 1
end
