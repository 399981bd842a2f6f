"""The command line with its own data directory and real files: in this process (`cli`) or in a new one (`program`)."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.commands import Done, run_in_process
from tests.support.waiting import PATIENT

DEADLINE_SECONDS = 120

SHOP: Mapping[str, str] = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        '"""Shopping carts."""\n\n'
        "from shop.money import Money\n\n\n"
        "class Cart:\n"
        '    """Holds what a customer wants to buy."""\n\n'
        "    def add_item(self, name: str, price: Money) -> None:\n"
        "        self.items.append((name, price))\n\n"
        "    def total_price(self) -> Money:\n"
        "        cents = sum(price.cents for _, price in self.items)\n"
        "        return Money(cents)  # rounding happens here and nowhere else\n"
    ),
    "shop/money.py": "class Money:\n    def __init__(self, cents: int) -> None:\n        self.cents = cents\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total_price():\n    assert Cart().total_price()\n",
    "README.md": "# Shop\n\nHow the shopping cart works.\n",
    "web/app.ts": "export function renderCart(id: string): void {\n  fetch(`/cart/${id}`);\n}\n",
}


class CommandLine:
    """Runs commands in this process, in `cwd`, with all data and settings below `base`. No stream is a terminal."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "data"
        self.user = base / "user"
        self.user.mkdir()
        self.cwd = base / "user"
        self.environment = {
            # PYTHON*: the environment of the tests may set unbuffered output, which hides bugs that users would see.
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("CODECOMPASS_", "WORKFLOW_", "GIT_", "PYTHON"))
            },
            **PATIENT,
            "CODECOMPASS_HOME": str(self.home),
            "HOME": str(self.user),
            "XDG_CONFIG_HOME": str(self.user / "config"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CEILING_DIRECTORIES": str(base),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
        }

    def __call__(self, *arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None, **variables: str) -> Done:
        return run_in_process(arguments, {**self.environment, **variables}, cwd or self.cwd, stdin or b"")

    def tree(self, name: str, files: Mapping[str, str | bytes] = SHOP, *, git: bool = True) -> Path:
        """Writes a project with these files and makes it the current directory."""
        root = self.base / name
        write(root, files)
        if git:
            self.git(root, "init", "-q", "-b", "main")
        self.cwd = root
        return root

    def git(self, root: Path, *arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], cwd=root, env=self.environment, check=True, capture_output=True)


class Program:
    """Runs commands in new processes, with the directory and data of `cli`."""

    def __init__(self, cli: CommandLine) -> None:
        self._cli = cli

    def __call__(self, *arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None, **variables: str) -> Done:
        done = subprocess.run(
            self.command(arguments),
            cwd=cwd or self._cli.cwd,
            env={**self._cli.environment, **variables},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def start(self, *arguments: str | Path, cwd: Path | None = None) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.command(arguments),
            cwd=cwd or self._cli.cwd,
            env=self._cli.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    @staticmethod
    def command(arguments: Sequence[str | Path]) -> list[str]:
        return [sys.executable, "-m", "codecompass", *map(str, arguments)]


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """Runs commands in this process, as nearly all tests need: a process takes half a second to start."""
    return CommandLine(tmp_path.resolve())


@pytest.fixture
def program(cli: CommandLine) -> Program:
    """For tests of the process itself: signals, descriptors, concurrency, loaded modules, exit."""
    return Program(cli)


@pytest.fixture
def shop(cli: CommandLine) -> Path:
    """A small git repository, not indexed, as the current directory."""
    return cli.tree("shop")


@pytest.fixture
def indexed(cli: CommandLine, shop: Path) -> Path:
    """The same, indexed."""
    assert cli("index").code == 0
    return shop
