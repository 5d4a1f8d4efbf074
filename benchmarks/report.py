"""What all benchmarks have in common: their command line, and how they print the machine and figures."""

from __future__ import annotations

import os
import platform
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass, field


def parser(description: str | None) -> ArgumentParser:
    """A parser that prints this description as its help, and knows `--smoke`."""
    made = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    made.add_argument(
        "--smoke",
        action="store_true",
        help="only show that it runs: fewest repetitions, figures mean nothing",
    )
    return made


@dataclass
class Report:
    """A table under a line about the machine; each row is printed as soon as it is known.

    Attributes:
        title: what was measured.
        browser: the browser's version; "" if none took part.
        missed: the names of the rows that missed their target.
    """

    title: str
    browser: str = ""
    missed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        browser = f", Chromium {self.browser}, software drawing" if self.browser else ""
        print(f"{self.title}\n{_machine()}{browser}")
        print(f"Other work on the machine at the start: load {os.getloadavg()[0]:.1f}")

    def section(self, title: str) -> None:
        """Begin a part of the table."""
        print(f"\n{title}")

    def row(self, name: str, figure: str, target: str = "", *, met: bool | None = None) -> None:
        """One line; `met` is None where nothing was promised."""
        verdict = {None: "", True: "met", False: "MISSED"}[met]
        print(f"  {name:58} {figure:>30}   {target:18} {verdict}".rstrip(), flush=True)
        if met is False:
            self.missed.append(name)

    def end(self) -> None:
        """The last line."""
        print(f"\nLoad at the end {os.getloadavg()[0]:.1f}. ", end="")
        print(f"Missed: {'; '.join(self.missed)}." if self.missed else "Every target met.")


def _machine() -> str:
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
