package shapes

import shop.store.*
import shop.{Store as Shop, given}

enum Color(val rgb: Int):
  case Red extends Color(1)
  case Green, Blue
  case Mixed(a: Color, b: Color)

  def brighter: Color = this

trait Ord[A]:
  def compare(a: A, b: A): Int

given intOrd: Ord[Int] with
  def compare(a: Int, b: Int) = a - b

given Ord[String] with {
  def compare(a: String, b: String) = 0
}
given listOrd[A](using Ord[A]): Ord[List[A]] = ???

extension (text: String)
  def shout(n: Int): String = text
  def twice = text + text

extension [A](x: List[A]) def second = x(1)

/** Counts. */
class Counter(start: Int):
  private var count = start

  def next(): Int =
    val step = 1
    def inner = count + step
    inner
  end next

end Counter

opaque type Meters = Double
inline def fast(x: Int): Int = x
def topLevel(x: Int)(using y: Int): Int = x match
  case 1 => 2
  case _ => 3

@main def hello() = println("hello")
val standard = 1
