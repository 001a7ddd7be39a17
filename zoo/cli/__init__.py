"""The command line: one file a command. This file and `commands` import next to nothing."""


def main() -> None:
    """The console script `zoo`."""
    try:
        from zoo.cli.root import run

        run()
    except KeyboardInterrupt:  # so early that no command has begun
        raise SystemExit(130) from None
