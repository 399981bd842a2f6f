"""The types in the head of a definition: what a class inherits from, what a function returns, what a field holds."""

import re
from typing import Final

from codecompass import lazy
from codecompass.languages import described
from codecompass.languages.written_types import WrittenTypes
from codecompass.query.uses.type_notation import first_name, item_types, split_at
from codecompass.store.rows import SymbolRow

_VALUE: Final = lazy.pattern(r"[={;]")


def declared_type(row: SymbolRow) -> str:
    """Returns the written type of a field or variable, or the return type of a function; `=` and the value if only that is
    written; '' if nothing is."""
    signature, name = row.signature, row.name
    types = described(row.language).types
    if row.kind == "type":
        return _of_alias(signature, name, types)
    if row.kind in ("fn", "method", "macro"):
        return _returned(signature, name, types)
    at = signature.find(name)
    if types.variables == "before_name":  # `Job Job { get; }`
        at = max((found.start() for found in re.finditer(rf"\b{re.escape(name)}\b", _VALUE.split(signature)[0])), default=at)
    before, after = signature[:at], signature[at + len(name) :]
    match types.variables:
        case "colon":
            after = after.lstrip("?! ")
            if after.startswith(":"):
                parts = after[1:].split("=") if types.has_infix_types else split_at(after[1:], "=")
                return parts[0].strip() if parts else ""
            return "=" + after[1:] if after.startswith("=") and not after.startswith("==") else ""
        case "after_name":
            after = after.strip()
            return "=" + after[1:] if after.startswith("=") else after.partition("=")[0].strip()
        case "before_name":
            is_array = types.has_arrays_after_names and after.lstrip()[:1] == "["
            return " ".join(_MODIFIERS_BEFORE.sub(" ", before).split()) + "[]" * is_array
    return ""


_MODIFIERS_BEFORE: Final = lazy.pattern(
    r"\b(?:public|private|protected|static|final|const|volatile|transient|extern|inline|mutable|readonly)\b|@\w+"
)
_MODIFIERS_OF_FUNCTIONS: Final = lazy.pattern(
    r"\b(?:public|private|protected|static|final|virtual|inline|constexpr|explicit|abstract|synchronized|extern|override|async|"
    r"sealed|default|native)\b|@\w+(?:\([^)]*\))?|^\s*<[^>]*>|\btemplate\s*<[^>]*>"
)


def _of_alias(signature: str, name: str, types: WrittenTypes) -> str:
    if types.aliases == "after_name":
        return signature.partition(name)[2].strip(" =")
    if types.aliases == "before_name" and signature.startswith("typedef"):
        return signature.removeprefix("typedef").rpartition(name)[0].strip()
    return signature.partition("=")[2].strip()


def _returned(signature: str, name: str, types: WrittenTypes) -> str:
    match types.results:
        case "arrow":
            _, arrow, type_ = signature.rpartition("->")
            return type_.partition(" where ")[0].strip() if arrow else ""
        case "colon":
            return _after_colon(signature)
        case "after_parameters":
            end = _end_of_parameters(signature, signature.find("(", signature.find(name)))
            return _results(signature[end + 1 :].strip()) if end >= 0 else ""
        case "before_name_or_colon" if ":" in (head := split_at(signature, "=")[0]).rpartition(")")[2]:
            return head.rpartition(")")[2].partition(":")[2].strip()
        case "before_name" | "before_name_or_colon":
            before = signature[: max(signature.find(name + "("), 0)]
            before = re.sub(r"\b(?:[\w~]+::)+$", "", before)
            return " ".join(_MODIFIERS_OF_FUNCTIONS.sub(" ", before).split())
    return ""


def _after_colon(signature: str) -> str:
    """Returns the type behind the parameters of a function, or behind the name of a getter."""
    signature = signature.rstrip(" =>{")
    found = re.search(r"\)\s*:\s*(?P<type>[^(){}=]+(?:<.*>)?)$", signature)
    if found is None and re.search(r"^(?:export\s+)?(?:static\s+)?get\s", signature):
        found = re.search(r":\s*(?P<type>.+)$", signature)
    return found["type"].strip() if found is not None else ""


def _end_of_parameters(signature: str, at: int) -> int:
    """Returns the index of the parenthesis that closes the one at `at`; -1 if none does."""
    depth = 0
    for index in range(at, len(signature) if at >= 0 else at):
        depth += (signature[index] in "([{") - (signature[index] in ")]}")
        if depth == 0:
            return index
    return -1


MAX_HEAD: Final = 2_000
"""Characters of the head of a definition that are searched for type parameters."""

_BOUND: Final = (
    r"\s*(?:(?:const|in|out|reified|final|@\w+)\s+)*[+-]?{name}\b(?:\[_\])?\s*(?:extends\b|<:|:(?!:)|(?<=\s)(?=[\w*\[~]))\s*"
)
_WHERE: Final = r"\bwhere\b(?:.*,)?\s*{name}\s*:(?!:)\s*"


def type_parameters(row: SymbolRow) -> list[str]:
    """Returns the type parameters of a definition as written, each with its bound: after its name, or before anything else."""
    head = row.signature[:MAX_HEAD]
    if "<" not in head and "[" not in head:
        return []
    after_name = re.search(rf"\b{re.escape(row.name)}\s*(?P<open>[<\[])", head) if row.name[:1].isalnum() else None
    found = after_name or re.search(r"(?:^|[\s=(]|\bimpl|\bfun|\bfn)(?P<open><)", head)
    if found is None or (found["open"] == "[" and not described(row.language).types.has_square_brackets):
        return []
    at = found.end("open")
    depth, end = 1, at
    while end < len(head) and depth:
        depth += (head[end] in "<[") - (head[end] in ">]" and head[end - 1] not in "=-")
        end += 1
    return split_at(head[at : end - (not depth)], ",")


def type_bound(name: str, row: SymbolRow) -> str:
    """Returns the type that every value of a type parameter of `row` has, as written: the `Job` of `<T extends Job>`; '' if `row`
    has no such parameter, or says nothing about it."""
    if name not in row.signature:
        return ""
    parameters = type_parameters(row)
    for position, parameter in enumerate(parameters):
        found = re.match(_BOUND.format(name=re.escape(name)), parameter)
        if found is not None:
            return _first_type(parameter[found.end() :]).replace("+", "&")
        if parameter.strip() == name and described(row.language).types.bounds_are_shared:
            later = [each.split(None, 1) for each in parameters[position + 1 :]]
            return next((words[1] for words in later if len(words) > 1), "")
    where = re.search(_WHERE.format(name=re.escape(name)), row.signature[:MAX_HEAD]) if parameters else None
    return _first_type(row.signature[where.end() : MAX_HEAD]).replace("+", "&") if where is not None else ""


def has_type_parameter(name: str, row: SymbolRow) -> bool:
    """Whether a definition has a type parameter of this name."""
    own = re.compile(rf"\s*(?:(?:const|in|out|reified|final)\s+)*[+-]?{re.escape(name)}\b")
    return name in row.signature and any(own.match(each) for each in type_parameters(row))


def _first_type(text: str) -> str:
    """Returns the type at the beginning of `text`, up to what ends it outside of brackets."""
    depth = 0
    for index, character in enumerate(text):
        if character in "<[(":
            depth += 1
        elif character in ">])" and text[index - 1 : index] not in ("-", "="):
            depth -= 1
        if depth < 0 or (depth == 0 and (character in ",={;" or text.startswith(" where ", index))):
            return text[:index].strip()
    return text.strip()


def _results(written: str) -> str:
    """Returns the results of a function without their names: `(*Job, error)` of `(job *Job, err error)`."""
    if not written.startswith("("):
        return (
            written.split()[-1]
            if written and not written.startswith(("func", "map", "interface", "struct", "chan", "<-"))
            else written
        )
    parts = split_at(written[1:].rpartition(")")[0], ",")
    types: list[str] = []
    are_named = any(" " in part.strip().replace("chan ", "") for part in parts)
    for part in reversed(parts):
        type_ = part.strip().partition(" ")[2]
        types.insert(0, (type_ or (types[0] if types else "")) if are_named else part.strip())
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


_GENERIC: Final = lazy.pattern(r"<[^<>]*>|\[[^\[\]]*\]")


def base_names(row: SymbolRow) -> list[str]:
    """Returns the names of a type's supertypes as written in its head, without type arguments."""
    types = described(row.language).types
    match types.supertypes:
        case "parentheses":
            return _in_parentheses(row.signature)
        case "bounds":
            return _implemented(row.signature) if row.kind == "impl" else _bounds(row.signature) if row.kind == "trait" else []
        case "keywords":
            return _after_keywords(_without_arguments(_without_wrappers(row.signature, types.first_argument_types)))
        case "less_than":
            _, less, base = _without_arguments(row.signature).partition("<")
            return [first_name(base)] if less and not base.startswith("<") else []
        case "colon":
            return _after_head(_without_arguments(row.signature))
    return []


def _in_parentheses(signature: str) -> list[str]:
    at = signature.find("(")
    if at < 0:
        return []
    inside = signature[at + 1 :].rpartition(")")[0] or signature[at + 1 :]
    return [name for part in split_at(inside, ",") if "=" not in part and (name := first_name(part))]


def _implemented(signature: str) -> list[str]:
    found = re.search(r"^(?:unsafe )?impl\b(?:<.*?>)?\s+!?(?P<trait>.+?)\s+for\s", _without_arguments(signature))
    return [first_name(found["trait"])] if found is not None else []


def _bounds(signature: str) -> list[str]:
    bounds = _behind_colon(_without_arguments(signature))
    return [name for part in bounds.split("+") if (name := first_name(part)) and not part.strip().startswith(("'", "?"))]


def _after_keywords(head: str) -> list[str]:
    clauses = re.findall(r"\b(?:extends|implements|with)\s+([^{]*?)(?=\b(?:extends|implements|with|permits)\b|$|\{)", head)
    return [name for clause in clauses for part in clause.split(",") if (name := first_name(part))]


def _after_head(head: str) -> list[str]:
    bases = _behind_colon(re.sub(r"\([^()]*\)", "", head))
    parts = [re.sub(r"\b(?:public|private|protected|virtual)\b|\bby\b.*", "", part) for part in bases.split(",")]
    return [name for part in parts if (name := first_name(part))]


def _behind_colon(head: str) -> str:
    """Returns what is behind the first colon that is not one of `::`, up to `where`; empty without one."""
    return head.replace("::", "\0").partition(":")[2].partition(" where ")[0].replace("\0", "::")


def arity(method: SymbolRow) -> tuple[int, int]:
    """Returns how many parameters and how many results a method has; (-1, -1) if its signature is cut."""
    signature = method.signature
    at = signature.find("(", max(signature.find(f"{method.name}("), 0))
    end = _end_of_parameters(signature, at)
    if end < 0:
        return -1, -1
    results = _returned(signature[at:], "", described(method.language).types)
    return len(split_at(signature[at + 1 : end], ",")), len(item_types(results)) or bool(results)


def numbered_fields(row: SymbolRow) -> list[str]:
    """Returns the types of the fields of a struct that have numbers for names: `A` and `B` of `struct Pair(A, B);`."""
    found = re.search(r"\bstruct \w+(?:<.*?>)?\((?P<fields>.*)\)", row.signature)
    has_any = found is not None and described(row.language).types.has_numbered_fields
    fields = split_at(found["fields"], ",") if found is not None and has_any else []
    return [re.sub(r"^\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?", "", field).strip() for field in fields]


def implementing_type(impl: SymbolRow) -> str:
    """Returns the type that an `impl` is for, as written, without type arguments; '' for references to a type."""
    head = _without_arguments(impl.signature.partition(" where ")[0])
    _, is_of_trait, written = head.rpartition(" for ")
    written = (written if is_of_trait else re.sub(r"^(?:unsafe\s+)?impl\b", "", head)).strip()
    return first_name(written) if not written.startswith(("&", "*", "(")) else ""


_GENERIC_TYPE: Final = lazy.pattern(r"\b(?P<name>\w+)<")
MAX_WRAPPERS: Final = 8


def _without_wrappers(text: str, wrappers: frozenset[str]) -> str:
    """Returns a head with `Omit<Base, ..>` and the like replaced by their first argument, whose members they have."""
    for _ in range(MAX_WRAPPERS if wrappers else 0):
        found = next((each for each in _GENERIC_TYPE.finditer(text) if each["name"] in wrappers), None)
        if found is None:
            break
        end = _end_of_arguments(text, found.end())
        inside = split_at(text[found.end() : end], ",")
        text = f"{text[: found.start()]}{inside[0].strip() if inside else ''}{text[end + 1 :]}"
    return text


def _end_of_arguments(text: str, at: int) -> int:
    """Returns the index of the bracket that closes the type arguments that begin at `at`; the end of the text if none does."""
    depth = 1
    while at < len(text):
        depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] not in ("=", "-"))
        if not depth:
            break
        at += 1
    return at


def is_for_all_types(impl: SymbolRow) -> bool:
    """Whether an `impl` is for a type parameter, or for references to a type, and so for no type of its own."""
    written = implementing_type(impl)
    head = re.match(r"(?:unsafe\s+)?impl\s*<", impl.signature)
    parameters = impl.signature[head.end() : _end_of_arguments(impl.signature, head.end())] if head is not None else ""
    return not written or written in (re.split(r"[:=]", part)[0].strip() for part in split_at(parameters, ","))


def _without_arguments(text: str) -> str:
    while (shorter := _GENERIC.sub("", text)) != text:
        text = shorter
    return text.replace("…", "")
