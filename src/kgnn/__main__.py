"""``python -m kgnn``: the command line."""

from kgnn.cli.main import main

if __name__ == "__main__":
    main()
