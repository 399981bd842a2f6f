@file:JvmName("Stores")
@file:Suppress("unused")

package shop.store

import kotlin.math.max
import shop.model.*
import shop.model.Item as Article
import java.util.concurrent.`in`

/** Where things are kept. */
@Serializable
@Deprecated(
    message = "use Shelf (or (better) Rack)",
    level = WARNING,
)
public sealed class Store<T : Any>(
    val capacity: Int,
    @JvmField private var label: String = "store",
    hint: Int,
) : Base(hint), Keeper by Fallback where T : Comparable<T> {
    constructor(label: String) : this(8, label, 0)
    private constructor(other: Store<T>) : this(other.capacity) { check() }

    private val items: MutableList<T> = mutableListOf()
    var size: Int
        get() = items.size
        private set(value) {
            check(value >= 0)
        }
    val lazily by lazy { items.size }
    lateinit var owner: String
    val (first, second) = pair
    val table = mapOf(
        "a" to 1, "b" to 2, "c" to 3, "d" to 4, "e" to 5, "f" to 6, "g" to 7,
        "h" to 8, "i" to 9, "j" to 10, "k" to 11, "l" to 12, "m" to 13, "n" to 14,
    )
    val order = object : Comparator<T> {
        override fun compare(a: T, b: T) = 0
    }
    private val socket = pipe(object : Source {
        override fun close() {}
    })
    init { println("made") }

    // Adds one.
    @Throws(FullException::class) fun add(item: T): Boolean {
        fun room(): Int = capacity - size
        class Receipt(val item: T) { fun print() {} }
        val listener = object : Listener { override fun onAdd() {} }
        return run {
            data class Local(val n: Int)
            room() > 0
        }
    }

    override suspend fun <R> using(block: suspend (T) -> R): R = block(first)
    internal inline fun peek() = items.last()
    protected open fun trim() {}
    abstract fun close()
    operator fun plus(other: Store<T>): Store<T> = other

    companion object {
        const val LIMIT = 100
        @JvmStatic fun empty() = null
    }

    inner class Cursor
    data class Entry(val key: String, var value: Int = 0)
    enum class State(val code: Int) : Coded {
        OPEN(1),
        CLOSED(2) {
            override fun next() = OPEN
        };

        open fun next() = CLOSED
    }
    interface Visitor { fun visit(); val depth: Int }
    annotation class Marked(val why: String)
    @JvmInline value class Key(val raw: Long)
}

fun interface Rule { fun check(): Boolean }
sealed interface Event
typealias Index<T> = Map<String, List<T>>

/** Joins with a comma. */
fun List<String>.joined(limit: Int = 3): String = take(limit).joinToString(",")
fun <T> Store<T>?.orEmpty() where T : Any {}
val String.shout: String get() = uppercase()
val standard = 3
private const val DEFAULT_NAME = "store"
var counter: Int by Delegates.observable(0) { _, _, _ -> }
    internal set

object Registry : Keeper(), Visitor {
    @Volatile var current: Store<*>? = null
    fun register(store: Store<*>) { current = store }
}
data object Nothing

internal fun `a name with blanks`() {
    val local = when (standard) {
        is Int if standard > 2 -> "many"
        in 0..<standard -> "few"
        else -> current!! // never null
    }
    val price = $$"costs $5"
}

public value class Wrapper<out T>
@PublishedApi internal constructor(internal val holder: Any?) {
    fun open(): T = holder as T
}

expect fun platform(): String
actual class Native actual constructor(actual val handle: Int)
