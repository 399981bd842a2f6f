"""What is loaded or made when it is first used: the modules of a package, and regular expressions.

A command of the command line then imports and compiles what it runs, and no more.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, AnyStr, Final, cast

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn", "scanner")
_VALUES: Final = ("pattern", "flags", "groups", "groupindex")


def exports(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Returns the `__getattr__` of a package (PEP 562), which imports the module of a name when the name is first asked for.

    `modules` are the names that each module of the package exports through it. None may be that of a module.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return get


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns a regular expression that is compiled when one of its methods is first called. Give none to a function of `re`."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))


class LazyPattern:
    """A regular expression that is compiled on first use. From then on it holds the methods of the compiled one, so that a call
    costs what it would cost there."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the compiled one
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = self.compiled()
        for each in (*_METHODS, *_VALUES):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)

    def compiled(self) -> re.Pattern[Any]:
        """Returns the regular expression itself."""
        return re.compile(self._text, self._flags)
