"""Saved tables: their file names, and their contents as read by pandas."""

import io
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import streamlit as st

from tests.app.shown import open_page, wait_finished

TEXT = "A cat sat down since it was very tired indeed."

TABLES = {
    "explore": "attnviz-minilm-layer2-head3-weights-A-cat-sat-down-since-it-was-very.csv",
    "score_heads": "attnviz-minilm-scores-pronoun-to-noun.csv",
}


@pytest.mark.usefixtures("short_corpora")
@pytest.mark.parametrize("page", TABLES)
def test_pandas_reads_every_table(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = st.download_button
    files: dict[str, str] = {}

    def record(label: str, contents: Callable[[], str | bytes], name: str, *rest: Any, **look: Any) -> bool:
        if name.endswith(".csv"):
            files[name] = str(contents())
        return draw(label, contents, name, *rest, **look)

    monkeypatch.setattr(st, "download_button", record)
    app = wait_finished(open_page(page, text=TEXT, layer="2", head="3"))
    app.session_state["save"] = True
    app.run()
    assert list(files) == [TABLES[page]]
    table = pd.read_csv(io.BytesIO(files[TABLES[page]].encode()))
    assert len(table)
    assert isinstance(table.index, pd.RangeIndex)
    assert not [name for name in table if re.fullmatch(r"[\d.]*|Unnamed.*|.*\.\d+", str(name))]
    assert len(table.columns) > 1
