#!/usr/bin/env crystal
# Times a rally. def commented; end
require "http/server"
require "option_parser"
require "./stages/*"
require "../shared/clock"

{% if flag?(:win32) %}
  require "./windows"
{% end %}

@[Link("timer")]
@[Link(ldflags: "-L/opt")]
lib LibTimer
  alias Handle = Void*
  type Clock = Int64
  TICKS = 1000
  $errno : Int32

  struct Reading
    seconds : Int64
    nanos : Int32
  end

  union Raw
    whole : UInt64
    parts : UInt32[2]
  end

  enum Mode : UInt8
    Slow
    Fast = 4
  end

  fun open = timer_open(name : UInt8*, mode : Mode) : Handle
  fun read(handle : Handle, reading : Reading*) : Int32
end

# Everything about rallies.
module Rally
  extend self
  VERSION = {{ `git describe`.stringify }}
  LIMITS  = {
    "gravel" => 110,
    "tarmac" => 140,
  }
  Log = ::Log.for("rally")
  class_property verbose : Bool = false
  @@started : Time? = nil

  alias Splits = Array(Time::Span) | Nil
  alias Callback = Driver, Int32 -> Bool

  class Error < Exception
  end

  class OffRoad < Error; end

  class Crash < Error
    def initialize(@driver : Driver, message = "class InString; end")
      super(message)
    end
  end

  @[Flags]
  enum Damage
    Tyre
    Engine
    Body   = 8

    # Whether the car still runs.
    def drivable? : Bool
      !engine?
    end

    def self.parse_all(text) : Array(self)
      text.split(',').map { |part| parse(part) }
    end
  end

  annotation Timed
  end

  record Split, driver : Driver, time : Time::Span do
    def slower?(other : Split)
      time > other.time
    end
  end

  abstract struct Surface
    include Comparable(Surface)
    abstract def grip : Float64
    abstract def name : String

    def <=>(other : Surface)
      grip <=> other.grip
    end

    def ==(other : self) : Bool
      true
    end

    def [](key)
      key
    end

    def []?(key); nil; end

    def []=(key, value)
    end

    def +(other) : self
      self
    end

    def -
      self
    end
  end

  struct Gravel < Surface
    getter grip : Float64 = 0.6
    def name : String
      "gravel"
    end
  end

  class Driver
    include JSON::Serializable
    property name : String
    getter splits = [] of Time::Span
    getter? retired : Bool = false
    setter car
    property! navigator : Driver
    private getter secret = 1
    class_getter count = 0
    @[JSON::Field(key: "no")]
    getter number : Int32, team : String?
    delegate size, to: @splits
    forward_missing_to @splits
    def_equals_and_hash name

    @points = 0
    @@all = {} of String => Driver

    def initialize(@name, @number = 0, *, @team = nil)
      @@all[@name] = self
    end

    def self.find(name : String) : Driver?
      @@all[name]?
    end

    def name=(value : String) : String
      @name = value
    end

    def finish!(time : Time::Span, &block : Split -> Nil) : Split
      split = Split.new(self, time)
      yield split
      helper = ->(x : Int32) { x + 1 }
      case split
      in Split then split
      end
    ensure
      Log.info { "def fake; end #{name}" }
    end

    protected def compare(other : T) : Int32 forall T
      number <=> other.number
    end

    private def hide; end
    def to_s(io : IO) : Nil
      io << name
    end

    def each(&) : Nil
      @splits.each { |s| yield s }
    end

    macro method_missing(call)
      {{ call.name }}
    end

    macro define_timer(name, *args)
      def {{name.id}}_time : Time::Span
        @{{name.id}}
      end
    end

    define_timer stage

    {% for letter in %w(a b) %}
      def {{letter.id}}_split
        1
      end
    {% end %}

    class Car(T, *U) < Vehicle(T)
      property tank : T

      def refuel(amount : T = T.zero)
        @tank += amount
      end
    end
  end

  def run(path, *, dry = false)
    File.each_line(path) do |line|
      next if line.starts_with?('#')
      name, _, rest = line.partition(' ')
      puts <<-TEXT
        def in_heredoc
          class InHeredoc
        TEXT
      puts %(def in_percent)
    end
  rescue ex : File::NotFoundError
    STDERR.puts ex.message
  end
end

private class Hidden::Deep < Rally::Driver
end

module Rally::Web
  class Handler
    include HTTP::Handler

    def call(context : HTTP::Server::Context)
      if context.request.path =~ /^\/def (\w+)/
        context.response.print "ok"
      else
        call_next(context)
      end
    end
  end
end

def top_level(x : Int, y = 2) : Int
  x + y
end

fun main_hook(argc : Int32) : Int32
  0
end

macro debug!(*values)
  {% unless flag?(:release) %}
    p {{values.splat}}
  {% end %}
end

server = HTTP::Server.new([Rally::Web::Handler.new])
OptionParser.parse do |parser|
  parser.on("-v", "--verbose", "def") { Rally.verbose = true }
end
