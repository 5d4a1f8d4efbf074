"""The command line and the printed report that all benchmarks share."""

from __future__ import annotations

import os
import platform
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass, field


def parser(description: str | None) -> ArgumentParser:
    """Return a parser with this description and the option `--smoke`."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="only check that the benchmark runs: few repetitions, meaningless results",
    )
    return parser


@dataclass
class Report:
    """A table with a line about the machine; each row is printed immediately.

    Attributes:
        title: the title of the table.
        browser: the browser's version; "" if the benchmark uses no browser.
        missed: the names of the rows that missed their targets.
    """

    title: str
    browser: str = ""
    missed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        browser = f", Chromium {self.browser}, software rendering" if self.browser else ""
        print(f"{self.title}\n{_machine()}{browser}")
        print(f"Load average at the start: {os.getloadavg()[0]:.1f}")

    def section(self, title: str) -> None:
        """Begin a section of the table."""
        print(f"\n{title}")

    def row(self, name: str, figure: str, target: str = "", *, met: bool | None = None) -> None:
        """Print a row; `met` is None if there is no target."""
        verdict = {None: "", True: "met", False: "MISSED"}[met]
        print(f"  {name:58} {figure:>30}   {target:18} {verdict}".rstrip(), flush=True)
        if met is False:
            self.missed.append(name)

    def end(self) -> None:
        """Print the load average and the missed targets."""
        print(f"\nLoad average at the end: {os.getloadavg()[0]:.1f}. ", end="")
        print(f"Missed: {'; '.join(self.missed)}." if self.missed else "All targets met.")


def _machine() -> str:
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
