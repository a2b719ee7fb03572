"""`python -m bough` is the command `bough`."""

from bough.app.cli import main

if __name__ == "__main__":
    main()
