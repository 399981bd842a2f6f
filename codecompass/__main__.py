"""The entry point of `python -m codecompass`."""

import sys

from codecompass.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
