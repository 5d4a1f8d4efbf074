"""Other packages that are missing, too old or too new are refused in a sentence."""

import re
from importlib import metadata

import pytest

from attnviz import importing
from attnviz.errors import AttnvizError


@pytest.mark.parametrize("outside", [">=99", "<1"])
def test_a_version_with_which_attnviz_does_not_run_is_refused(
    outside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = f"transformers{outside}"
    monkeypatch.setattr(importing, "CORE", ("torch>=2", wanted))
    said = (
        f"attnviz needs {wanted}, and transformers {metadata.version('transformers')} is installed. "
        f'Put it right with: python -m pip install "{wanted}"'
    )
    with pytest.raises(AttnvizError, match=f"^{re.escape(said)}$"), importing.gate:
        pytest.fail("The gate is open.")


def test_all_that_an_extra_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importing.EXTRAS, "app", ("nobodys>=1,<2", "numpy>=2", "none-such>=3"))
    said = "its extra [app], needs nobodys>=1,<2 and none-such>=3, and nobodys is not installed and none-such"
    with pytest.raises(AttnvizError, match=re.escape(said)):
        importing.need_extra("app")
