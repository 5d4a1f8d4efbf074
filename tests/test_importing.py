"""Errors about missing packages and warnings about untested versions."""

import re
from importlib import metadata

import pytest

from attnviz import importing
from attnviz.errors import AttnvizError


@pytest.mark.parametrize("requirement", [">=99", "<1", ">=0.5,<1"])
def test_an_untested_version_causes_a_warning(requirement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importing.EXTRAS, "torch", ("torch>=2", f"transformers{requirement}"))
    found = metadata.version("transformers")
    warning = f"attnviz is tested with transformers{requirement}, and transformers {found} is installed."
    with pytest.warns(UserWarning, match=f"^{re.escape(warning)}$"), importing.gate:
        pass


@pytest.mark.parametrize(
    ("version", "requirement", "tested"),
    [
        ("2.13.0+cpu", "torch>=2.6,<3", True),
        ("2.6.0", "torch>=2.6,<3", True),
        ("2.5.1", "torch>=2.6,<3", False),
        ("3.0", "torch>=2.6,<3", False),
        ("3.0.0rc1", "torch>=2.6,<3", False),
        ("0.9", "torch", True),
    ],
)
def test_versions_are_compared_number_by_number(version: str, requirement: str, tested: bool) -> None:
    assert importing._satisfies(version, requirement) is tested


def test_the_error_names_all_missing_packages_of_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importing.EXTRAS, "app", ("nobodys>=1,<2", "numpy>=2", "none-such>=3"))
    message = "(extra [app]) needs nobodys>=1,<2 and none-such>=3, which are not installed."
    with pytest.raises(AttnvizError, match=re.escape(message)):
        importing.need_extra("app")
