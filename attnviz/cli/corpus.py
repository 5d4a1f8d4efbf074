"""`corpus`: write the sentences that the translators learn from."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attnviz.trained.translator import corpus


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `corpus` to the command line."""
    command = commands.add_parser("corpus", help="write the sentences to learn from, and those to test with")
    command.add_argument("--out", type=Path, required=True, help="the folder to write")
    command.add_argument("--sentences", type=int, default=60_000, help="how many to learn from (60000)")
    command.add_argument("--seed", type=int, default=0, help="chooses them (0)")
    command.set_defaults(run=run_corpus)


def run_corpus(arguments: argparse.Namespace) -> None:
    """Write the corpus."""
    for file in corpus.write(arguments.out, arguments.sentences, arguments.seed):
        sys.stdout.write(f"{file}\n")
