"""The budget counts every line once, and names the part that exceeds it."""

from pathlib import Path

from tests.budget import exceeded, lines_by_file, lines_of

LINES = {"app.py": 3, "attnviz/app/page.py": 5, "attnviz/application.py": 7, "tests/test_page.py": 11}


def test_a_folder_is_no_prefix_of_a_name() -> None:
    assert lines_of(["attnviz/app"], LINES) == 5
    assert lines_of(["app.py", "attnviz"], LINES) == 15


def test_a_part_above_its_maximum_is_named() -> None:
    parts: dict[str, dict[str, int | list[str]]] = {
        "app": {"folders": ["attnviz/app"], "max_lines": 5},
        "tests": {"folders": ["tests"], "max_lines": 9},
    }
    [sentence] = exceeded(parts, LINES)
    assert sentence.startswith("tests: 11 lines, 2 more")


def test_this_file_is_counted_and_bundles_are_not() -> None:
    lines = lines_by_file()
    assert lines["tests/test_budget.py"] == len(Path(__file__).read_text("utf-8").splitlines())
    assert not any("bundle/" in name for name in lines)
