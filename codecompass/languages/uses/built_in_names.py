"""The types, objects and modules that each language has without an import: nothing used after them is the repository's own.

Only names that stand before a member (`JSON.parse`, `int.TryParse`, `String::new`) are listed, not functions such as `print`. A
definition that a file can see hides the built-in one, so a list need not be careful about names that people also use.
"""

from collections.abc import Mapping
from typing import Final

from codecompass.languages.words import word_set

_JAVA: Final = (
    "Appendable AutoCloseable Boolean Byte Character CharSequence Class ClassLoader Cloneable Comparable Double Enum Error "
    "Exception Float IllegalArgumentException IllegalStateException Integer Iterable Long Math Module Number Object Override "
    "Package Process ProcessBuilder Record Runnable Runtime RuntimeException Short StackTraceElement StrictMath String "
    "StringBuffer StringBuilder System Thread ThreadGroup ThreadLocal Throwable Void"
)
_JVM_ROOTS: Final = "android androidx jakarta java javax"
_PRIMITIVES: Final = "boolean byte char double float int long short"

BUILT_IN_NAMES: Final[Mapping[str, frozenset[str]]] = {
    "c": word_set("std __gnu_cxx"),
    "csharp": word_set(
        "bool byte char decimal double float int long nint nuint object sbyte short string uint ulong ushort Action Activator "
        "AppContext AppDomain Array ArraySegment Attribute BitConverter Boolean Buffer Byte Char CultureInfo Console Convert "
        "DateOnly DateTime DateTimeOffset DBNull Decimal Delegate Directory Double Encoding Enum Enumerable Environment "
        "EventArgs Exception File Func GC Guid HashCode Half HttpClient IntPtr Int16 Int32 Int64 Interlocked Lazy Math MathF "
        "Memory MemoryExtensions Monitor Nullable Object Parallel Path Predicate Process Random Range Regex SByte Single Span "
        "Stopwatch String StringBuilder StringComparer StringComparison System Task Thread ThreadPool TimeOnly TimeSpan Tuple "
        "Type UInt16 UInt32 UInt64 UIntPtr Uri ValueTask ValueTuple Version"
    ),
    "ecmascript": word_set(
        "AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt BigInt64Array BigUint64Array Blob Boolean "
        "Buffer DataView Date Document Element Error EvalError Event EventTarget File FinalizationRegistry Float32Array "
        "Float64Array FormData Function Headers HTMLElement Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map "
        "Math NaN Node Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Request Response Set "
        "SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TypeError Uint16Array Uint32Array Uint8Array "
        "Uint8ClampedArray URIError URL URLSearchParams WeakMap WeakRef WeakSet WebAssembly XMLHttpRequest console crypto "
        "document globalThis history localStorage location navigator performance process sessionStorage window"
    ),
    "elixir": word_set(
        "Access Agent Application ArgumentError Atom Base Behaviour Bitwise Calendar Code Collectable Config Date DateTime "
        "Duration DynamicSupervisor Enum Enumerable ExUnit Exception File Float Function GenEvent GenServer IEx IO Inspect "
        "Integer JSON Kernel Keyword List Logger Macro Map MapSet Mix Module NaiveDateTime Node OptionParser Path Port Process "
        "Protocol Range Record Regex Registry RuntimeError Stream String StringIO Supervisor System Task Time Tuple URI Version"
    ),
    "java": word_set(_JAVA, _JVM_ROOTS, _PRIMITIVES),
    "kotlin": word_set(
        _JAVA,
        _JVM_ROOTS,
        "kotlin Any Array ArrayList BooleanArray ByteArray Char CharArray DoubleArray FloatArray HashMap HashSet Int IntArray "
        "LinkedHashMap LinkedHashSet List LongArray Map MutableList MutableMap MutableSet Nothing Pair Regex Result Sequence "
        "Set ShortArray Triple UByte UInt ULong UShort Unit",
    ),
    "lua": word_set("bit bit32 coroutine debug io jit math os package string table utf8"),
    "php": word_set(
        "ArgumentCountError ArithmeticError ArrayAccess ArrayIterator ArrayObject Closure Countable DateInterval DatePeriod "
        "DateTime DateTimeImmutable DateTimeInterface DateTimeZone DOMDocument DOMXPath Error ErrorException Exception "
        "Generator InvalidArgumentException Iterator IteratorAggregate JsonException JsonSerializable Locale LogicException "
        "NumberFormatter PDO PDOException Phar ReflectionClass ReflectionException ReflectionFunction ReflectionMethod "
        "ReflectionNamedType ReflectionProperty RuntimeException SimpleXMLElement SplFileInfo SplObjectStorage stdClass "
        "Stringable Throwable Traversable TypeError UnexpectedValueException UnitEnum ValueError WeakMap WeakReference "
        "ZipArchive"
    ),
    "python": word_set(
        "ArithmeticError AssertionError AttributeError BaseException Exception ImportError IndexError KeyError LookupError "
        "NameError NotImplementedError OSError RuntimeError StopIteration TypeError UnicodeError ValueError bool bytearray "
        "bytes complex dict float frozenset int list memoryview object range set slice str tuple type"
    ),
    "ruby": word_set(
        "ArgumentError Array BasicObject BigDecimal Class Comparable Complex Date DateTime Dir ENV Encoding Enumerable "
        "Enumerator Errno Etc Exception Fiber File FileTest FileUtils Float GC Hash IO IOError Integer Kernel Marshal Math "
        "Method Module Mutex NameError NilClass NoMethodError Numeric Object ObjectSpace Open3 OpenSSL Pathname Proc Process "
        "Queue Rational Ractor Random Range Regexp RuntimeError RubyVM SecureRandom Set Shellwords Signal Socket StandardError "
        "StopIteration String StringIO StringScanner Struct Symbol Tempfile Thread Time TracePoint TypeError URI UnboundMethod "
        "YAML Zlib"
    ),
    "rust": word_set(
        "alloc bool char core f32 f64 i128 i16 i32 i64 i8 isize std str u128 u16 u32 u64 u8 usize Box Option Result String Vec"
    ),
    "scala": word_set(
        _JAVA,
        _JVM_ROOTS,
        "scala Any AnyRef Array BigDecimal BigInt Char Either Function Int Iterator LazyList Left List Map None Nil Option "
        "Ordering Predef Range Right Seq Set Some Stream StringContext Tuple Unit Vector",
    ),
    "swift": word_set(
        "Any AnyObject Array Bool Bundle Calendar Character Data Date DateFormatter DispatchQueue Dictionary Double Error "
        "FileManager Float Int Int16 Int32 Int64 Int8 JSONDecoder JSONEncoder Locale NSError NSObject NotificationCenter "
        "NumberFormatter Operation OperationQueue Optional ProcessInfo Range Result Set String Substring Task Thread "
        "TimeInterval TimeZone Timer UInt UInt16 UInt32 UInt64 UInt8 URL URLComponents URLRequest URLResponse URLSession UUID "
        "UserDefaults Void"
    ),
    "zig": word_set("builtin std"),
}
"""By language, or by family for languages that have the same."""

NAMESPACE_ROOTS: Final = word_set(_JVM_ROOTS, "System kotlin scala std core alloc")
"""Built-in names that are namespaces, in which a repository can define something too."""
