"""`python -m codecompass`, and what the installed command calls."""

import sys

from codecompass.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
