"""Helpers for tests of pages without a browser: open a page by a link, and read the data of its pictures."""

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
from streamlit.testing.v1 import AppTest

from attnviz.app.folded import EVERYTHING
from attnviz.app.server.jobs import Jobs
from attnviz.app.state.choices import OPEN
from attnviz.trace import Floats

APP = Path(__file__).parents[2] / "app.py"
SECONDS = 60
FOLDED: dict[str, str | list[str]] = {"open": []}
"""Argument for `visit` to open only the sections that the other parameters need."""


def open_page(
    name: str, parameters: Mapping[str, str | list[str]] | None = None, /, **more: str | list[str]
) -> AppTest:
    """Open a page with URL parameters, as in `open_page("explore", layer="2", also=["3", "5"])`."""
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.switch_page(f"pages/{name}.py")
    everything = {"open": EVERYTHING} if name in OPEN.pages else {}
    for key, value in {**everything, **(parameters or {}), **more}.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception, app.exception[0].value
    return app


def visit(
    name: str, parameters: Mapping[str, str | list[str]] | None = None, /, **more: str | list[str]
) -> AppTest:
    """Open a page as `open_page` does, and check that it shows no error."""
    return clean(open_page(name, parameters, **more))


def clean(app: AppTest) -> AppTest:
    """Check that the page raised no exception and shows no error; return the page."""
    assert not app.exception, app.exception[0].value
    assert not app.error, app.error[0].value
    return app


def press(app: AppTest, label: str) -> AppTest:
    """Press the first button whose label begins with `label`; return the page."""
    next(button for button in app.button if button.label.startswith(label)).click().run()
    assert not app.exception, app.exception[0].value
    return app


def open_menu(app: AppTest, menu: str) -> AppTest:
    """Open a menu whose contents are drawn only while it is open; return the page."""
    app.session_state[menu] = True
    return clean(app.run())


def button_row(app: AppTest, key: str) -> Any:
    """Return the row of buttons that `controls.buttons` drew with this key."""
    return next(
        each for each in app.button_group if re.fullmatch(rf"{re.escape(key)}(: .*)?", each.key or "")
    )


def buttons(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def wait_finished(app: AppTest) -> AppTest:
    """Run the page until its computations have finished; return the page."""
    end = time.monotonic() + SECONDS
    while app.run().get("progress") or "Stop" in buttons(app):
        assert time.monotonic() < end, "the computation has not finished"
        time.sleep(0.02)
    return app.run()  # elements above may have been drawn before the job finished


def stop(jobs: Jobs) -> None:
    """Stop all unfinished jobs, and wait for their last steps."""
    for job in jobs._jobs.values():
        if not job.finished:
            job.stop()
        wait_until(lambda job=job: job._run is None or job._run.done())  # type: ignore[misc]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.005)


def paragraphs(app: AppTest) -> list[str]:
    """Return every Markdown text on the page, with plain spaces."""
    assert not app.exception, app.exception[0].value
    return [each.value.replace("\u00a0", " ") for each in app.markdown]


def page_text(app: AppTest) -> str:
    """Return all Markdown on the page as one string."""
    return "\n".join(paragraphs(app))


def warnings(app: AppTest) -> str:
    return "\n".join(warning.value for warning in app.warning)


def messages_to(app: AppTest, widget: str) -> list[dict[str, Any]]:
    """Return the message to each browser widget of this name."""
    found = [element.proto for element in app.get("bidi_component")]
    return [json.loads(proto.json)[0] for proto in found if proto.component_name == f"attnviz.{widget}"]


def message_to(app: AppTest, widget: str) -> dict[str, Any]:
    """Return the message to the first browser widget of this name."""
    found = messages_to(app, widget)
    assert found, f"no widget {widget} on the page"
    return found[0]


def stored_arrays(app: AppTest, key: str) -> dict[str, Floats]:
    """Return the arrays published to the browser under this key; all are float32."""
    header, data = _published(app, key)
    return {
        each["name"]: np.frombuffer(data, np.float32, each["length"] // 4, each["offset"]).reshape(
            each["shape"]
        )
        for each in header["arrays"]
    }


def stored_metadata(app: AppTest, key: str) -> dict[str, Any]:
    """Return the metadata published with the arrays under this key."""
    found: dict[str, Any] = _published(app, key)[0]["facts"]
    return found


def _published(app: AppTest, key: str) -> tuple[dict[str, Any], bytes]:
    """Return the header of the published arrays, and their bytes."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == "attnviz.store":
            data = element.proto.bytes
            start = 4 + int.from_bytes(data[:4], "little")
            header = json.loads(data[4:start])
            if header["key"] == key:
                return header, data[start:]
    raise AssertionError(f"no arrays {key} on the page")


def explained_weights(app: AppTest) -> list[str]:
    """Return the printed weights for which the page shows the arithmetic."""
    titles = [title.value.replace("\u00a0", " ") for title in app.subheader]
    return [found[1] for title in titles if (found := re.fullmatch(r"Why does .*:violet\[(.*)\]", title))]


def token_bars(app: AppTest) -> list[dict[str, Any]]:
    """Return the messages to the tables of bars that have one number per token."""
    return [table for table in messages_to(app, "share_table") if table["columns"] == [table["title"]]]


def chart_specs(app: AppTest) -> list[dict[str, Any]]:
    """Return the Vega-Lite specification of each chart."""
    return [json.loads(element.proto.spec) for element in app.get("vega_lite_chart")]


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """Return the line charts by title, each with its lines and their numbers in drawing order."""
    found = {}
    for spec in chart_specs(app):
        if spec["layer"][0]["mark"]["type"] == "rect":  # a heatmap
            continue
        lines: list[dict[str, Any]] = []
        for layer in spec["layer"]:
            rows, mark = layer["data"]["values"], layer["mark"]["type"]
            drawn = bool(lines) and rows[0] in lines[-1]["rows"]  # the points of a line
            if mark == "line" or (mark == "point" and not drawn):
                numbers = {
                    name: [row.get(name) for row in rows] for name in ("x", "y", "low", "high", "printed")
                }
                label, faint = rows[0]["line"], layer["mark"].get("opacity") == 0.3
                lines.append({"label": label, "rows": rows, "faint": faint, **numbers})
        marked = next(
            (layer["data"]["values"][0]["x"] for layer in spec["layer"] if "y" not in layer["encoding"]), None
        )
        title = spec["description"].split(". ")[0]
        found[title] = {"lines": lines, "alt": spec["description"], "marked": marked}
    return found


def labels(tokens: list[dict[str, Any]]) -> list[str]:
    return [token["label"] for token in tokens]


def page_links(app: AppTest) -> dict[str, dict[str, str]]:
    """Return the URL parameters of each link to another page, by the page's name."""
    links = [link.proto for link in app.get("page_link")]
    return {
        link.page or "explore": {name: value for name, [value] in parse_qs(link.query_string).items()}
        for link in links
    }
