# frozen_string_literal: true
require "json"
require "set" unless defined?(Set)
require_relative "../catalog/isbn"
autoload :Barcode, "library/barcode"

$shelf_log = nil
$stdout.sync = true

# Everything that stands in a reading room.
#
# A second paragraph that is not kept.
module Library
  MAX_BOOKS = 40
  WIDTH, HEIGHT = 80, 200
  COLOURS = {
    red: "#f00",
  }.freeze
  SECRET = "x"
  private_constant :SECRET

  class Error < StandardError; end
  Missing = Class.new(Error)

  # Where a book stands.
  Place = Struct.new(:row, :column, keyword_init: true) do
    def to_s = "#{row}/#{column}"
  end
  Size = Data.define(:width, :height)

  module Checks
    module_function

    def sane?(value) = !value.nil?
  end

  # A shelf of books.
  class Shelf < Struct.new(:label)
    include Enumerable
    extend Forwardable

    attr_reader :books, # in order
                :size
    attr_accessor "label_colour"
    attr_writer :owner
    def_delegators :@books, :first, :last
    def_delegator :@books, :length, :count
    delegate :name, to: :owner
    @@shelves = 0
    @default = nil

    class << self
      # Reads a shelf from a file.
      def load(path)
        require "yaml"
        new(YAML.load_file(path))
      end

      attr_reader :default

      private

      def build(*) = new
    end

    def self.empty
      new([])
    end

    def initialize(books, label: "none",
                   owner: nil)
      @books = books
      local = 1
      COLOURS.each { |key, _| key + local }
    end

    def [](index)
      @books[index]
    end

    def ==(other) = books == other.books

    def owner=(person)
      @owner = person

      def person.shelf
        self
      end
    end

    define_method(:each) do |&block|
      @books.each(&block)
    end
    %w[red blue].each do |colour|
      define_method("#{colour}?") { true }
    end

    alias each_book each
    alias_method :to_list, :to_a

    # Only for the catalog.
    private def renumber!
      nil
    end

    def late; end

    protected

    def weight; end

    private

    def dust
      :done
    end

    if RUBY_VERSION >= "3.0"
      def polish; end
    else
      def polish(*); end
    end

    public

    def open?; true; end
    private_class_method :empty
    private :late
  end
end

class ::Library::Shelf
  def reopened; end

  class Library::Clerk; end
end

module Padding
  refine String do
    def pad(width) = rjust(width)
  end
end

RSpec.describe Library::Shelf do
  def sample
    Library::Shelf.new([])
  end

  it "holds" do
    stub = Object.new
    def stub.held?(book) = true
    Fake = Class.new do
      def fake_method; end
    end
  end
end

namespace :library do
  task :audit do
    puts "no definition here"
  end
end
