"""What a page that ran without a browser shows."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest


def clean(app: AppTest) -> None:
    """The page ran to its end, and has nothing to complain of."""
    assert not app.exception, app.exception[0].value
    assert not app.error, app.error[0].value


def words(app: AppTest) -> str:
    """All Markdown on the page, without the marks that keep numbers behind right-to-left words."""
    assert not app.exception, app.exception[0].value
    return "\n".join(element.value for element in app.markdown).replace("\u200e", "")


def sent(app: AppTest, widget: str) -> dict[str, Any]:
    """What Python sent to the browser widget of this name."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == f"attnviz.{widget}":
            message: dict[str, Any] = json.loads(element.proto.json)
            return message
    raise AssertionError(f"no widget {widget} on the page")


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """What Python sent to each chart of curves, by its title."""
    found = [element.proto for element in app.get("bidi_component")]
    messages = [json.loads(proto.json) for proto in found if proto.component_name == "attnviz.curves"]
    return {message["title"]: message for message in messages}
