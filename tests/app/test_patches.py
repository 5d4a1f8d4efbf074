"""What Streamlit does with a link's numbers that are none."""

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from attnviz.app import patches

    patches.apply()
    st.text(st.number_input("whole", 1, 6, 4, key="whole", bind="query-params"))
    st.text(st.number_input("real", 0.5, 2.0, 1.0, key="real", bind="query-params"))
    st.text(st.slider("slider", 1, 6, 3, key="slider", bind="query-params"))


@pytest.mark.parametrize("number", ["inf", "-inf", "Infinity", "1e999", "nan", "9" * 400])
@pytest.mark.parametrize("name", ["whole", "real", "slider"])
def test_a_number_that_is_not_finite_gives_the_default(name: str, number: str) -> None:
    app = AppTest.from_function(page)
    app.query_params[name] = number
    app.run()
    assert not app.exception
    assert [text.value for text in app.text] == ["4", "1.0", "3"]
    assert name not in app.query_params
