package railway
package signals

import scala.collection.mutable.{ArrayBuffer => Buffer, Map as MutableMap, *}
import scala.concurrent.*
import java.util._, java.time.{Instant, Duration => JDuration}
import Aspect.given
export Aspect.*

/* object Commented
   /* class NestedComment */
 */
opaque type Kilometres = Double
object Kilometres:
  def apply(value: Double): Kilometres = value
  extension (k: Kilometres)
    def metres: Double = k * 1000
    infix def +(other: Kilometres): Kilometres = k + other
end Kilometres

type Handler[F[_], A] = A => F[Unit]
val version = "def notCode = 1"
val (major, minor) = (1, 2)
lazy val late: Int = { val local = 1; local }
var counter, total = 0
inline val Limit = 3
def topLevel(x: Int)(using Context): Int = x
given Context = new Context {}
given ordering: Ordering[Train] with
  def compare(a: Train, b: Train): Int = a.speed - b.speed
given [A](using Show[A]): Show[List[A]] with
  def show(list: List[A]): String = ""
implicit val legacy: Context = summon
extension [A](list: List[A])
  def second: Option[A] = list.drop(1).headOption
  def third: A =
    list(2)
extension (text: String) def shout: String = text.toUpperCase

enum Aspect(val code: Int) derives CanEqual:
  case Red extends Aspect(0)
  case Yellow, Green
  case Flashing(aspect: Aspect, hertz: Double) extends Aspect(3)
  def isStop: Boolean = this == Red
object Aspect { val default = Aspect.Red; def parse(s: String) = default }

enum Tree[+A] { case Leaf(value: A); case Node(left: Tree[A], right: Tree[A]) }

sealed trait Vehicle extends Serializable:
  self: Logging =>
  type Id <: String
  val id: Id
  def speed: Int
  protected[signals] def brake(): Unit = ()
  abstract class Part(val name: String)
  object Part:
    def empty: Part = ???

trait Logging { def log(s: => String): Unit }

@deprecated("use Engine", "2")
final case class Train private[railway] (
  name: String,
  @transient var speed: Int = 3,
  private val wagons: Seq[Wagon] = Nil
)(using context: Context)
    extends AbstractTrain(name)
    with Vehicle
    with Ordered[Train] {

  import context.*
  type Id = String
  override val id = name
  private[this] var fuel, water = 1.0
  def this(name: String) = this(name, 0, Nil)
  def compare(that: Train) = 0
  def +(wagon: Wagon): Train = copy(wagons = wagons :+ wagon)
  def `type`: String = "class NotCode"
  def unary_! : Boolean = false
  def speed_=(value: Int): Unit = { speed = value }
  def apply[A: Ordering, B](a: A, b: B = null)(f: (A, B) => Int)(implicit ctx: Context): Int = {
    def inner(n: Int): Int = if n == 0 then 0 else inner(n - 1)
    val localValue = inner(3)
    class LocalClass { def method = 1 }
    object LocalObject
    for { x <- 1 to 3; y = x } yield y
    a match
      case _: String => f(a, b)
      case _ => localValue
  }
  def one = 1; def two = 2
  @tailrec private final def loop(n: Int): Int = loop(n)
  def multi(
    first: Int,
    second: Int
  ): Int =
    first + second
}

object Train extends (String => Train) with App {
  def apply(name: String): Train = new Train(name)
  def unapply(train: Train): Option[(String, Int)] = Some((train.name, train.speed))
  implicit class Ops(private val train: Train) extends AnyVal { def fast = true }
  implicit def toName(train: Train): String = train.name
  case object Stopped extends Aspect
  private object Cache { var hits = 0 }
  val handler: PartialFunction[Any, Unit] = { case "x" => }
  val text = s"""
    class InText { def inText = ${1 + 1} }
  """
}

class Station(val name: String, platforms: Int) derives Show
class Empty
case object Depot
trait Marker

package inner {
  object Deep { val depth = 1 }
}

package object helpers { def help = 1 }

transparent inline def debug(inline expr: Any): Unit = ${ debugImpl('expr) }
def debugImpl(expr: Expr[Any])(using Quotes): Expr[Unit] = '{ () }

@main def run(args: String*): Unit =
  println(version)
end run
