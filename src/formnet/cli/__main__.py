"""`python -m formnet.cli` is `formnet`."""

from formnet.cli import main

main()
