"""How packages are named by the code of other repositories, by family of languages.

By family and not by language, because a question about a definition of another repository says only its family.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct


class Packages(Struct, frozen=True, kw_only=True):
    """The packages of one family of languages."""

    language: str
    """One language of the family."""
    separator: str
    """Separates the name of a package from the names of its parts."""
    named_by: Literal["path", "directory", "manifest"]
    """What names the package of a file: the first part of the file's module, its directory below that of the manifest (each
    directory is a package), or the manifest alone."""
    ecosystem: str = ""
    """The manifests' ecosystem in the index."""
    manifest: str = ""
    """The name of the file that names packages; other configuration files only say where modules are found."""


PACKAGES: Final[Mapping[str, Packages]] = {
    "python": Packages(language="python", separator=".", named_by="path"),
    "go": Packages(language="go", separator="/", named_by="directory", ecosystem="go", manifest="go.mod"),
    "ecmascript": Packages(language="typescript", separator="/", named_by="manifest", ecosystem="node", manifest="package.json"),
    "rust": Packages(language="rust", separator="::", named_by="manifest", ecosystem="cargo", manifest="Cargo.toml"),
}
