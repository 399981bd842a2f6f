defmodule Library.Shelf do
  @moduledoc """
  A shelf of books.

  Not shown.
  """

  use GenServer
  use Library.Web, :controller
  alias Library.Book
  alias Library.{Reader, Loans.Loan}
  alias Library.Catalog.Entry, as: Item
  import Ecto.Query, only: [from: 2, where: 3]
  import Enum, except: [map: 2]
  require Logger
  @behaviour Library.Store

  @max_books 40
  @derive {Jason.Encoder, only: [:label]}
  @enforce_keys [:label]
  @places ~w(north south)
  @places ["east" | @places]

  # What holds the books.
  defstruct [:label, :room, books: [], "size": 0]

  @typedoc "Where a book stands."
  @type place :: {row :: integer, column :: integer}
  @type t(kind) :: %__MODULE__{label: kind}
  @typep internal :: term
  @opaque handle :: reference

  @doc "Called when a book is taken."
  @callback taken(book :: Book.t(), keyword) :: :ok | {:error, term}
  @macrocallback __shelf__(env :: Macro.Env.t()) :: Macro.t()
  @optional_callbacks taken: 2

  defguard is_label(value) when is_binary(value) and value != ""
  defguardp is_row(value) when value > 0

  @doc """
  Puts a book on the shelf.
  """
  @spec put(t(atom), Book.t()) :: t(atom)
  def put(shelf, book, opts \\ [])

  # Nothing to do.
  def put(shelf, nil, _opts), do: shelf

  def put(%__MODULE__{books: books} = shelf, book, opts) when is_list(opts) do
    %{shelf | books: [book | books]}
  end

  def put(shelf), do: shelf

  @doc false
  def count(%{books: books}), do: length(books)

  defp sort([]), do: []
  defp sort([first | rest]), do: [first | sort(rest)]

  def left <~> right, do: {left, right}
  def unquote(:computed)(x), do: x
  def without_parens, do: :ok

  defdelegate keys(map), to: Map
  defdelegate all(shelf), to: Library.Catalog, as: :list

  # A comment is a doc too.
  @impl true
  def handle_call({:take, id}, _from, state) do
    alias Library.Loans.Rules
    {:reply, Rules.check(id), state}
  end

  @impl true
  def handle_call(:all, _from, state), do: {:reply, state.books, state}

  defmacro __using__(opts) do
    quote do
      import Library.Shelf, only: :macros

      def shelf(id), do: Library.Shelf.get(id)

      defp label(nil), do: "none"
      defp label(text), do: text
    end
  end

  defmacrop hidden(x), do: x

  if Code.ensure_loaded?(Jason) do
    def to_json(shelf), do: Jason.encode!(shelf)
  end

  for name <- ~w(red blue)a do
    def colour(unquote(name)), do: unquote(name)
  end

  defmodule Full do
    defexception message: "the shelf is full", label: nil

    def message(%{label: label}), do: label
  end
end

defprotocol Library.Labelled do
  @doc "Returns the label."
  @fallback_to_any true
  def label(thing)
end

defimpl Library.Labelled, for: Library.Shelf do
  def label(shelf), do: shelf.label
end

defimpl Library.Labelled, for: [Integer, Atom] do
  def label(thing), do: to_string(thing)
end

defmodule Library.Loan do
  use Ecto.Schema

  schema "loans" do
    # When it has to be back.
    field :due, :date
    belongs_to :reader, Library.Reader
    timestamps()
  end

  defimpl Inspect do
    def inspect(loan, _opts), do: "#Loan<#{loan.id}>"
  end
end

defmodule :library_erl do
  def start, do: :ok
end
