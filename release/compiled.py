"""The build hook that compiles some modules of the wheel with mypyc (docs/adr/0044).

It is disabled unless HATCH_BUILD_HOOK_ENABLE_CUSTOM=1. The source tree is only read: a working tree has no compiled module, and
runs as Python whatever was built from it. Where nothing can be compiled, the wheel is the one that runs everywhere.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY: Final = "codecompass"
"""Name of the library that all compiled modules share; mypyc adds `__mypyc` and the suffix of the interpreter."""

BUILD_SECONDS: Final = 900

SETUP: Final = """
from mypyc.build import mypycify
from setuptools import setup

setup(
    name={library!r},
    packages=[],
    ext_modules=mypycify({arguments!r}, opt_level="2", debug_level="0", group_name={library!r}),
    script_args=["--quiet", "build_ext", "--build-lib", "compiled"],
)
"""


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel, beside their source. The option `modules` lists their paths."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Returns what compiling needs; only a build with this hook installs it."""
        return ["mypy>=2.0,<3", "setuptools>=77"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles, unless the wheel is an editable one."""
        if version == "editable":
            return
        reason = missing()
        if reason:
            self.app.display_warning(f"Nothing is compiled, because {reason}; the wheel runs everywhere.")
            return
        self._scratch = tempfile.mkdtemp(prefix="compiled-")
        built = compile_modules(Path(self.root), self.config["modules"], Path(self._scratch))
        build_data["force_include"] |= {str(built / name): name for name in files_below(built)}
        build_data["infer_tag"] = True
        build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what is in the wheel now."""
        with contextlib.suppress(AttributeError):
            shutil.rmtree(self._scratch)


def missing() -> str:
    """Returns why modules cannot be compiled here, '' if they can."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        return "the headers of Python are not installed"
    return ""


def compile_modules(root: Path, modules: list[str], scratch: Path) -> Path:
    """Compiles modules of the package in `root` and returns the directory with what belongs into the wheel.

    Raises RuntimeError with what was printed if that fails.
    """
    shutil.copytree(root / "codecompass", scratch / "codecompass", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    # Their imports are read for types alone; a library that is not installed has none, which costs speed.
    arguments = ["--ignore-missing-imports", "--follow-imports=silent", *modules]
    (scratch / "setup.py").write_text(SETUP.format(library=LIBRARY, arguments=arguments), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "setup.py"],
        cwd=scratch,
        env=os.environ | {"MYPYPATH": str(scratch)},
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"mypyc failed:\n{done.stdout}{done.stderr}")
    return scratch / "compiled"


def files_below(directory: Path) -> list[str]:
    """Returns the files in a directory, relative to it, sorted."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
