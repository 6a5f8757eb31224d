"""`python -m interlock`."""

import sys

from interlock.cli.main import main

sys.exit(main())
