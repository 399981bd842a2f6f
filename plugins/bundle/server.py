"""Starts the server of this bundle.

uv has installed the wheel before it runs this. Any other Python makes a virtual environment for this version in the user's cache,
once, and continues in it.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Runs the program with the arguments of this process, and does not return."""
    arguments = sys.argv[1:] or ["serve-mcp"]
    try:
        from codecompass.cli.main import main as run
    except ImportError:
        program = install()
        os.execv(program, [program, *arguments])
    sys.argv = ["codecompass", *arguments]
    sys.exit(run())


def install() -> str:
    """Returns the program's path; installs the wheel the first time. Stdout is the host's, so pip writes to stderr."""
    (wheel,) = HERE.glob("*.whl")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    environment = cache / "codecompass-bundle" / f"{wheel.stem}-{version}"
    program = environment / "bin" / "codecompass"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], stdout=sys.stderr, check=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, str(wheel)], stdout=sys.stderr, check=True)
    return str(program)


if __name__ == "__main__":
    main()
