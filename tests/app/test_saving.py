"""What files are called, what pictures say of themselves, and that every table opens."""

import io
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import streamlit as st

from tests.app.shown import finished, try_page

TEXT = "A cat sat down since it was very tired indeed."


TABLES = {
    "explore": "attnviz-minilm-layer2-head3-weights-A-cat-sat-down-since-it-was-very.csv",
    "score_heads": "attnviz-minilm-scores-pronoun-to-noun.csv",
}


@pytest.mark.usefixtures("little_to_read")
@pytest.mark.parametrize("page", TABLES)
def test_pandas_opens_every_table_as_it_is(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = st.download_button
    made: dict[str, str] = {}

    def noted(label: str, contents: Callable[[], str | bytes], name: str, *rest: Any, **look: Any) -> bool:
        if name.endswith(".csv"):
            made[name] = str(contents())
        return draw(label, contents, name, *rest, **look)

    monkeypatch.setattr(st, "download_button", noted)
    both = {"text": TEXT, "patched_with": TEXT.replace("tired", "small")}
    app = finished(try_page(page, both, layer="2", head="3"))
    if page == "intervene":
        finished(app.button(key="patching start").click().run())
    app.session_state["save"] = True
    app.run()
    assert list(made) == [TABLES[page]]
    table = pd.read_csv(io.BytesIO(made[TABLES[page]].encode()))
    assert len(table)
    assert isinstance(table.index, pd.RangeIndex)
    assert not [name for name in table if re.fullmatch(r"[\d.]*|Unnamed.*|.*\.\d+", str(name))]
    assert len(table.columns) > 1
