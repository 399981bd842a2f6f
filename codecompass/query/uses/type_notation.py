"""Reads a type as it is written: the names in it, the types of the elements of a collection, and of the items of a tuple."""

import re
from typing import Final

from codecompass import lazy
from codecompass.languages.words import word_set

MAX_ALTERNATIVES: Final = 4

_WRAPPERS: Final = word_set(
    "Optional Annotated Final ClassVar Type type Awaitable Promise Partial Readonly Required Option Box Rc Arc RefCell Mutex Ref "
    "RefMut Pin Cow unique_ptr shared_ptr weak_ptr optional Nullable NonNullable Result InitVar const Task ValueTask Future "
    "Lazy Awaited Omit Pick Exclude Extract DeepReadonly DeepPartial"
)
"""Generic types whose values are used like those of their argument."""

_NOT_TYPES: Final = word_set(
    "None null undefined nil void bool int str float bytes string number boolean any unknown never mut dyn impl const ref static "
    "final readonly struct union enum auto var let pub crate in out Any object dynamic tuple Tuple"
)
_MODIFIER: Final = lazy.pattern(
    r"^(?:[&*?]+|'\w+\b|(?:mut|dyn|impl|const|final|readonly|struct|enum|union|static|ref|async|typename|pub|in|out)\b)\s*"
)
_HEAD: Final = lazy.pattern(r"(?:[^\W\d]|\$)[\w$]*(?:(?:\.|::)(?:[^\W\d]|\$)[\w$]*)*")


PRIMITIVES: Final = word_set(
    "int float str bytes bool string number boolean char byte short long double uint ulong ushort sbyte decimal usize isize u8 "
    "u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 rune bigint "
    "symbol"
)
"""Types whose names are keywords, or that everything sees, and that no repository defines."""

_COLLECTIONS: Final = word_set(
    "Array ReadonlyArray Set ReadonlySet Iterable Iterator IterableIterator Generator AsyncIterable AsyncIterator "
    "AsyncGenerator list List Sequence MutableSequence Collection set frozenset deque Deque FrozenSet AbstractSet ArrayList "
    "LinkedList Queue Stack Stream Vec VecDeque BTreeSet HashSet LinkedHashSet TreeSet SortedSet IEnumerable IList ICollection "
    "IReadOnlyList IReadOnlyCollection IQueryable ISet MutableList MutableSet vector array span initializer_list unordered_set "
    "multiset Seq IndexedSeq Vector IAsyncEnumerable ObservableCollection ImmutableList ImmutableArray Span ReadOnlySpan Flow"
)
"""Generic types that hold values of their first argument."""

_MAPS: Final = word_set(
    "dict Dict Mapping MutableMapping defaultdict OrderedDict DefaultDict Map ReadonlyMap Record HashMap BTreeMap LinkedHashMap "
    "TreeMap ConcurrentHashMap ConcurrentMap SortedMap IDictionary Dictionary IReadOnlyDictionary ConcurrentDictionary "
    "SortedDictionary MutableMap map unordered_map"
)
"""Generic types that hold values of their second argument."""


def element_type(written: str) -> str:
    """Returns the type of the elements of a collection, or of the values of a map, as written; '' for any other type."""
    text = written.strip().strip("\"'").strip()
    while (shorter := _MODIFIER.sub("", text)) != text:
        text = shorter
    text = text.rstrip("?!&* ")
    if item_types(text):
        return ""
    if text.startswith(("chan ", "<-chan ", "chan<- ")):
        return text.partition("chan")[2].lstrip("<- ")
    if text.startswith("map["):
        return text[text.find("]") + 1 :]
    if text.startswith("[]"):
        return text[2:]
    if text.startswith("[") and text.endswith("]"):
        return split_at(text[1:-1].partition(";")[0], ":")[-1].strip()
    text = re.sub(r"\s*\.\.\.$", "[]", text)
    if text.endswith("[]"):
        return text[:-2].strip("() ").removeprefix("readonly ")
    head = _HEAD.match(text)
    if head is None or text[head.end() : head.end() + 1] not in ("[", "<"):
        return ""
    name = re.split(r"\.|::", head[0])[-1]
    arguments = [part.strip() for part in split_at(text[head.end() + 1 : -1], ",")]
    if name in _WRAPPERS and arguments:
        return element_type(arguments[0])
    if name in _COLLECTIONS and arguments:
        return arguments[0]
    return arguments[1] if name in _MAPS and len(arguments) > 1 else ""


def only_argument(written: str) -> str:
    """Returns the type argument of a generic type that has one; '' for any other type."""
    text = written.strip().strip("\"'").rstrip("?!&* ")
    head = _HEAD.match(text)
    if head is None or text[head.end() : head.end() + 1] not in ("[", "<") or text[-1:] not in ("]", ">"):
        return ""
    arguments = split_at(text[head.end() + 1 : -1], ",")
    return arguments[0].strip() if len(arguments) == 1 else ""


def item_types(written: str) -> list[str]:
    """Returns the types of the items of a tuple as written: of `(A, B)`, `[A, B]`, `tuple[A, B]`, `Pair<A, B>`, else none."""
    text = written.strip().strip("\"'").strip()
    head = _TUPLE.match(text)
    if head is None or text[-1:] not in (")", "]", ">"):
        return []
    parts = [part.strip() for part in split_at(text[head.end() : -1], ",")]
    return parts if len(parts) > 1 and parts[-1] != "..." else []


_TUPLE: Final = lazy.pattern(
    r"(?:(?:typing\.|t\.)?[tT]uple\[|(?:std::)?(?:pair|tuple)<|(?:Pair|Triple|Tuple|ValueTuple)<|readonly \[|[(\[])"
)


def type_names(written: str) -> list[str]:
    """Returns the names of the types that a value may have, at most MAX_ALTERNATIVES.

    Both of `A | B` and of `A & B`; `Session` of `Optional[Session]` and of `&mut Session`. Types of parts (a tuple, a list) are
    left out.
    """
    names: list[str] = []
    pending = [written.strip().strip("\"'")]
    while pending and len(names) < MAX_ALTERNATIVES:
        text = pending.pop(0).strip().strip("\"'").strip()
        parts = split_at(text, "|")
        if len(parts) == 1:
            parts = split_at(text, "&")
        if len(parts) > 1:
            pending = parts + pending
            continue
        if text.startswith("(") and text.endswith(")") and "," not in text and "=>" not in text:
            pending.insert(0, text[1:-1])
            continue
        while (shorter := _MODIFIER.sub("", text)) != text:
            text = shorter
        if text.startswith(("(", "[")):
            continue
        head = _HEAD.match(text)
        if head is None:
            continue
        name = head[0]
        last = re.split(r"\.|::", name)[-1]
        rest = text[head.end() :].lstrip()
        if rest.startswith("[]"):
            continue
        if last in _WRAPPERS and rest[:1] in ("[", "<"):
            inner = split_at(rest[1:].rstrip("]>*& ") if rest[-1:] in "]>*& " else rest[1:], ",")
            pending = inner[:1] + pending
            continue
        if last == "Union" and rest[:1] == "[":
            pending = split_at(rest[1:-1], ",") + pending
            continue
        if name not in _NOT_TYPES:
            names.append(name)
    return names


def split_at(text: str, separator: str) -> list[str]:
    """Returns the parts of a text between separators outside of brackets, without blank ones."""
    parts: list[str] = []
    depth, start = 0, 0
    for index, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[index - 1 : index] not in ("-", "=")):
            depth -= 1
        elif character == separator and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def first_name(text: str) -> str:
    """Returns the first name in a text, which may be qualified; empty if there is none."""
    found = _HEAD.search(text)
    return found[0] if found is not None else ""
