"""The command line: one file a command. This file and `commands` import next to nothing."""


def main() -> None:
    """The console script `zoo`."""
    from zoo.cli.root import run

    run()
