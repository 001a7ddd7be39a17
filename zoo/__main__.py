"""`python -m zoo`: the command `zoo`, where the folder of commands is not on the path."""

from zoo.cli import main

if __name__ == "__main__":
    main()
