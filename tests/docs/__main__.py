"""`python -m tests.docs [PAGE...]`: see `tests.docs.pages`."""

import sys

from tests.docs.pages import main

main(sys.argv[1:])
