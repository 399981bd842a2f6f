# A choir and the songs that it knows.
require "json"
require "./voices"

module Choir
  VERSION = "0.3.0"

  # How high a voice is.
  enum Voice
    Soprano
    Alto
    Bass = 4

    def high?
      self < Bass
    end
  end

  alias Pitch = Int32 | Float64

  annotation Hidden
  end

  # A song in several voices.
  struct Song
    include JSON::Serializable

    getter title : String
    property parts : Array(Voice) = [] of Voice

    def initialize(@title, *parts : Voice)
      @parts = parts.to_a
    end

    def ==(other : Song)
      title == other.title
    end

    def [](index : Int32) : Voice
      @parts[index]
    end
  end

  abstract class Singer
    property name : String
    getter? absent = false
    @@count = 0

    def initialize(@name)
      @@count += 1
    end

    abstract def sing(song : Song) : String

    def self.count : Int32
      @@count
    end

    protected def breath
      sleep 0.1
    end

    private def log(text)
      puts "#{name}: #{text} def not_code"
    end
  end

  class Tenor < Singer
    def sing(song : Song) : String
      breath
      log(song.title)
      song.parts.map { |part| part.to_s }.join(", ")
    end
  end

  macro define_singer(name)
    class {{name.id}} < Singer
    end
  end

  lib LibTone
    fun play = tone_play(hertz : Float64) : Int32
  end

  # Sings all songs, one after the other.
  def self.perform(singers : Array(Singer), songs : Enumerable(Song)) : Nil
    songs.each do |song|
      singers.each do |singer|
        next if singer.absent?
        puts singer.sing(song)
      end
    end
  end
end

def main(arguments)
  songs = arguments.map { |title| Choir::Song.new(title, Choir::Voice::Alto) }
  Choir.perform([Choir::Tenor.new("ada")] of Choir::Singer, songs)
  if songs.empty?
    puts "nothing to sing"
  end
end

main(ARGV)
