"""Every benchmark runs with few repetitions; the resulting numbers are not meaningful."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted(
    path.stem
    for path in (ROOT / "benchmarks").glob("*.py")
    if f"Run: python -m benchmarks.{path.stem}" in path.read_text("utf-8")
)


@pytest.mark.everything
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs(name: str) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
