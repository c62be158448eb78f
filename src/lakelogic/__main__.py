"""`python -m lakelogic` is the command `lakelogic`."""

from lakelogic.cli.main import main

main()
