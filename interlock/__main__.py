"""`python -m interlock`."""

from interlock.cli.main import program

program()
