"""The sections below a page's picture: one is open, all are, or none; the others are not computed."""

import pytest
from streamlit.testing.v1 import AppTest


def page(**link: str) -> AppTest:
    def draw() -> None:
        import streamlit as st

        from attnviz.app.folded import folded, section

        folded(section("One", st.markdown, "first"), section("Two", st.markdown, "second"))

    app = AppTest.from_function(draw)
    for name, value in link.items():
        app.query_params[name] = value
    return app.run()


@pytest.mark.parametrize(
    ("link", "headings", "words"),
    [
        ({}, [], []),
        ({"open": "Two"}, ["Two"], ["second"]),
        ({"open": "Everything"}, ["One", "Two"], ["first", "second"]),
        ({"open": "Three"}, [], []),
    ],
)
def test_what_the_link_names_is_drawn_and_nothing_else(
    link: dict[str, str], headings: list[str], words: list[str]
) -> None:
    app = page(**link)
    assert [each.value for each in app.header] == headings
    assert [each.value for each in app.markdown] == words
