"""The command line: one file per command. This file and `commands` import almost nothing."""


def main() -> None:
    """The console script `zoo`."""
    try:
        from zoo.cli.root import run

        run()
    except KeyboardInterrupt:  # so early that no command has begun
        raise SystemExit(130) from None
