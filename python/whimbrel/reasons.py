"""`python -m whimbrel.reasons`: writes the tables of reasons in the README.md of all papers."""

import sys

from whimbrel._reproduce.reasons import main

if __name__ == "__main__":
    sys.exit(main())
