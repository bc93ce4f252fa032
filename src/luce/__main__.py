"""`python -m luce` is the command `luce`."""

from luce.cli import main

if __name__ == "__main__":
    main()
