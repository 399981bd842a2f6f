@file:JvmName("Lighthouses")
@file:Suppress("unused")

package coast.lights

import kotlin.math.*
import coast.charts.Chart as SeaChart
import java.util.concurrent.atomic.AtomicInteger

/* class Commented { /* fun nested() {} */ } */

const val VERSION = "fun notCode() {}"
private val counter by lazy { AtomicInteger() }
var level: Int = 0
    get() = field + 1
    private set(value) { field = value }
val String.isLight: Boolean get() = startsWith("L")
val <T> List<T>.second: T
    get() = this[1]
lateinit var keeper: Keeper
val (north, south) = 1 to 2
val text = """
    class InText
    fun inText() = ${1 + 1}
"""
val handler: (Int) -> Unit = { x -> println(x) }
val anonymous = object : Runnable { override fun run() {} }

typealias Beam<T> = suspend (T) -> Unit
@Target(AnnotationTarget.CLASS) annotation class Marked(val name: String = "")

fun interface Visitor<in T> { fun visit(item: T): Boolean }
sealed interface Signal { val code: Int }
interface Named { val name: String; fun label(): String = "interface Hidden" }

enum class Colour(val hex: String) : Named {
    RED("#f00") { override fun label() = "red" },
    @Deprecated("old") GREEN("#0f0"),
    WHITE("#fff");

    override fun label(): String = name
    companion object { val DEFAULT = RED; fun parse(s: String) = valueOf(s) }
}

sealed class State : Signal {
    data class Lit(override val code: Int, val since: Long = 0) : State()
    data object Dark : State() { override val code = 0 }
    object Broken : State() {
        override val code get() = -1
        fun repair() = Unit
    }
}

@Marked("main")
@JvmInline value class Metres(val value: Double)

/**
 * A lighthouse.
 */
abstract class Lighthouse<out T : Any, in U> @Inject internal constructor(
    val name: String,
    private var height: Int = 3,
    vararg lamps: Lamp,
    @field:NotNull protected open val chart: SeaChart? = null,
) : Base(name), Named by NamedImpl(), Comparable<Lighthouse<*, *>> where T : Signal {
    private val lamps = lamps.toList(); val count get() = lamps.size
    abstract val range: Double
    protected open lateinit var beam: Beam<Int>
    var power: Int by Delegates.observable(0) { _, old, new -> println(old + new) }
    @Volatile @JvmField var isOn = false

    init {
        val local = 1
        fun inInit() = local
        require(height > 0)
    }

    constructor(name: String) : this(name, 1) { isOn = true }
    internal constructor() : this("none")

    abstract fun flash(times: Int = 1)
    override operator fun compareTo(other: Lighthouse<*, *>): Int = height - other.height
    infix fun near(other: Lighthouse<*, *>) = true
    tailrec fun descend(n: Int): Int = if (n == 0) 0 else descend(n - 1)
    inline fun <reified R> only(crossinline block: (T) -> R): List<R> where R : Any {
        class Local(val x: Int) { fun method() = x }
        fun helper(n: Int): Int { return n }
        val lambda = fun(x: Int): Int { return x }
        listOf(1).forEach { item -> println(item) }
        when (val state = current()) {
            is State.Lit -> state.since
            else -> 0
        }
        return emptyList()
    }
    suspend fun wait_(): Unit = coroutineScope { launch { delay(1) } }
    fun `name with spaces`() {}
    fun one() = 1; fun two() = 2
    external fun native(): Int
    operator fun get(index: Int): Lamp = lamps[index]

    inner class Stairs(val steps: Int) { fun climb() = this@Lighthouse.name }
    class Nested { object Deep { const val DEPTH = 3 } }
    companion object Factory : Comparable<Int> {
        const val MAX = 10
        @JvmStatic fun create(): Lighthouse<*, *>? = null
        override fun compareTo(other: Int) = 0
    }
}

fun Lighthouse<*, *>.describe(): String = buildString { append(name) }
fun <T, R> Iterable<T>.mapLights(transform: (T) -> R): List<R> where T : Signal, R : Any =
    map(transform)
private fun SeaChart?.orEmpty() = this ?: SeaChart()
context(Logger)
fun logged() = Unit
suspend inline fun <T> retry(
    times: Int,
    crossinline block: suspend () -> T,
): T {
    repeat(times) { runCatching { return block() } }
    error("class NotHere { fun x() }")
}
operator fun Metres.plus(other: Metres) = Metres(value + other.value)
expect fun platform(): String
actual class Platform actual constructor()
object Registry { private val lights = mutableMapOf<String, State>(); operator fun get(key: String) = lights[key] }
class Empty
class Generic<T>(val item: T)

fun main(args: Array<String>) = runBlocking {
    val light = Registry["a"]
    println(light)
}
