"""A Plotly chart in the page's own colours, described in words for those who do not see it."""

from __future__ import annotations

from typing import Any

import streamlit as st


def chart(figure: Any, *, alt: str, key: str, filename: str) -> None:
    """Draw a chart to zoom into, point at, and save as SVG.

    Args:
        figure: Plotly's, without template, fonts or background of its own.
        alt: what one sees in it, with the numbers.
        key: Streamlit's key of this chart.
        filename: of the saved picture, without ending.
    """
    save = {"format": "svg", "filename": f"attnviz-{filename}"}
    st.plotly_chart(
        figure,
        theme="streamlit",
        alt=alt,
        key=key,
        config={"displaylogo": False, "toImageButtonOptions": save},
    )
