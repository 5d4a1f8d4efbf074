"""What every benchmark's command line has in common."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter


def parser(description: str | None) -> ArgumentParser:
    """A parser that prints this description as its help, and knows `--smoke`."""
    made = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    made.add_argument(
        "--smoke",
        action="store_true",
        help="only show that it runs: fewest repetitions, figures mean nothing",
    )
    return made
