"""`make` sets up by itself where a machine has only a `python3` and a POSIX shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import tool

MAKEFILE = Path(__file__).parent.parent / "Makefile"
SHELLS = ("dash", "sh", "bash")

INTERPRETER = """#!/bin/sh
# An interpreter of which only the version and the modules that make virtual environments are another's.
case "$1" in
-c) exec {python} -c "import sys; sys.version_info = {version}; {before}; $2" ;;
-m) shift; echo "$0" "$@" >> {log}; [ "$1" != venv ] || {{ {mkdir} -p "$2/bin" && {ln} -sf "$0" "$2/bin/python"; }} ;;
esac
"""


class Machine:
    """A directory with the only programs on the PATH, and a copy of the Makefile."""

    def __init__(self, root: Path) -> None:
        self.programs = root / "bin"
        self.programs.mkdir()
        (self.programs / "touch").symlink_to(tool("touch"))
        self.project = root / "a project"
        self.project.mkdir()
        (self.project / "Makefile").write_bytes(MAKEFILE.read_bytes())
        for name in ("pyproject.toml", "constraints.txt"):
            (self.project / name).touch()
        self.log = root / "log"

    def add_python(self, name: str, version: tuple[int, int, int], before: str = "pass") -> None:
        text = INTERPRETER.format(
            python=sys.executable, version=version, before=before, log=self.log, mkdir=tool("mkdir"), ln=tool("ln")
        )
        self.add_program(name, text)

    def add_program(self, name: str, text: str) -> None:
        program = self.programs / name
        program.write_text(text)
        program.chmod(0o755)

    def make(self, shell: str, *variables: str) -> subprocess.CompletedProcess[str]:
        """Runs the rule that makes the virtual environment."""
        return subprocess.run(
            [tool("make"), f"SHELL={tool(shell)}", *variables, ".venv/.ready"],
            cwd=self.project,
            env={"PATH": str(self.programs)},
            capture_output=True,
            text=True,
            check=False,
        )

    def made_by(self) -> str:
        """Returns the name of the interpreter that made the virtual environment."""
        program, *arguments = self.log.read_text().splitlines()[0].split()
        assert arguments == ["venv", ".venv"]
        return os.path.basename(program)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_python3_alone_is_found(machine: Machine, shell: str, minor: int):
    machine.add_python("python3", (3, minor, 0))

    done = machine.make(shell)

    assert (done.returncode, machine.made_by()) == (0, "python3"), done.stderr
    assert (machine.project / ".venv/.ready").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_an_interpreter_with_a_version_in_its_name_is_found(machine: Machine, shell: str):
    """Debian 12 and others whose `python3` is too old."""
    machine.add_python("python3", (3, 9, 2))
    machine.add_python("python3.13", (3, 13, 0))

    done = machine.make(shell)

    assert (done.returncode, machine.made_by()) == (0, "python3.13"), done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_a_link_of_a_version_manager_to_a_version_that_is_not_selected_is_passed_over(machine: Machine, shell: str):
    machine.add_program("python3.11", "#!/bin/sh\necho 'python3.11: command not found' >&2\nexit 127\n")
    machine.add_python("python3", (3, 12, 0))

    done = machine.make(shell)

    assert (done.returncode, machine.made_by()) == (0, "python3"), done.stderr


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("has_old", [True, False])
def test_without_a_new_enough_python_the_error_says_what_is_needed(machine: Machine, shell: str, has_old: bool):
    if has_old:
        machine.add_python("python3", (3, 10, 4))

    done = machine.make(shell)

    assert done.returncode != 0
    assert "Python 3.11 or later is needed" in done.stderr
    assert "make PYTHON=" in done.stderr
    assert not machine.log.exists()


def test_a_named_interpreter_is_used_or_refused(machine: Machine, tmp_path: Path):
    machine.add_python("python3", (3, 12, 0))
    machine.add_python("mine", (3, 13, 0))
    machine.add_python("old", (3, 8, 0))

    refused = machine.make("sh", "PYTHON=old")
    used = machine.make("sh", f"PYTHON={machine.programs / 'mine'}")

    assert refused.returncode != 0
    assert "Python 3.11 or later is needed" in refused.stderr
    assert (used.returncode, machine.made_by()) == (0, "mine"), used.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_where_the_system_keeps_ensurepip_apart_the_error_names_the_package(machine: Machine, shell: str):
    machine.add_python("python3", (3, 13, 0), before="sys.modules['ensurepip'] = None")

    done = machine.make(shell)

    assert done.returncode != 0
    assert "apt install python3.13-venv" in done.stderr
    assert not machine.log.exists()
