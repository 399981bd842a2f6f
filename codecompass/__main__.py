"""The entry point of `codecompass` and of `python -m codecompass`."""

import sys

from codecompass import memory


def main() -> int:
    """Runs the command line of this process, which has nothing else to do afterwards, and returns the exit code."""
    memory.collect_seldom()
    from codecompass.cli.main import main as run

    code = run()
    memory.keep_all()
    return code


if __name__ == "__main__":
    sys.exit(main())
