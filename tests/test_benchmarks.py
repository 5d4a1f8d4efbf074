"""Every benchmark runs: with as few repetitions as it can, so that its figures mean nothing."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted(
    path.stem
    for path in (ROOT / "benchmarks").glob("*.py")
    if f"Run: python -m benchmarks.{path.stem}" in path.read_text("utf-8")
)
AGAINST_BERTVIZ = {"all_heads", "report_size"}


@pytest.mark.everything
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_smoke_run_ends_well_or_says_what_is_not_installed(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    if name in AGAINST_BERTVIZ and not (find_spec("bertviz") and shutil.which("npm")):
        assert done.returncode == 1
        assert done.stderr.startswith("This compares with BertViz, which needs npm and ")
    else:
        assert done.returncode == 0, done.stderr
        assert done.stdout
