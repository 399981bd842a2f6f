package shop
package store

import scala.collection.mutable
import shop.model.{Item, Price => Cost, Hidden => _, _}
import shop.syntax._
import a.b, c.d
import java.util.{
  List => JList,
  Map
}

/** Where things are kept. */
@deprecated("use Shelf", "1.0")
sealed abstract class Store[A, +B <: A](val capacity: Int, private var label: String = "store", hint: Int)(implicit
    order: Ordering[A]
) extends Base(hint)
    with Keeper[A] {

  type Index = Int
  type Missing
  val size: Int = 3
  val first, second = 4
  var owner: String = _
  lazy val sorted = items.sorted
  private[this] val items = mutable.Buffer.empty[A]
  val (width, height) = (1, 2)
  val Some(best) = pick
  protected[store] def grow(): Int = 1
  private[shop] def shrink = 2

  // Adds one.
  @throws[FullException]
  final def add(item: A)(at: Int): Boolean = {
    def room(n: Int) = capacity - n
    val count = 1
    class Receipt(val item: A) { def print() = () }
    room(count) > 0
  }

  def this(label: String) = this(1, label, 0)
  def abstractly(x: Int): Int
  override def +(other: Store[A, B]): Store[A, B] = other
  def `a name` = 1
  implicit def toInt(x: Store[A, B]): Int = x.capacity
  implicit class Rich(val self: Store[A, B]) { def rich = self }

  implicit val keeping: Keeper[List] = new Keeper[List] with Serializable {
    type Self = List[A]
    def keep[X](xs: List[X]): Int = xs.map { x =>
      def inner = x
      inner
    }.size
    val depth = 1
  }

  case class Entry(key: String, value: Int = 0)(implicit val order: Ordering[Int])
  object Limits { val Low = 1; final val High = 9 }
}

trait Keeper[F[_]] extends Any { self: Store[_, _] =>
  def keep[X](xs: F[X]): Int
  val depth: Int
}

object Store extends App {
  def empty: Store[Int, Int] = ???
  class Eq[A](implicit ev: Hash[A]) extends Base[A]()(ev) with Hash[A] {
    def same(end: Int): Int = end match {
      case 0 => 1
    }
  }
}
case object Nothing
object `Keep-Alive` {
  def parse(extension: Int): `Keep-Alive` = `Keep-Alive`.of(extension)
}
private[shop] sealed trait Event
final class Hidden private (val code: Int)

package object tools {
  type Name = String
  def tool = 1
}
package inner { class Deep }

class Broken {
  def before = 1
  def oops( = {
  def after = 2
}
