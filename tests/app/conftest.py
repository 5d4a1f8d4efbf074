"""A visit to the app without a browser: logic only, pictures are data."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[2] / "app.py"

Visit = Callable[..., AppTest]
VisitPage = Callable[..., AppTest]


@pytest.fixture
def visit() -> Visit:
    """Opens the app by a link: `visit(layer="2", also=["3", "5"])`."""

    def open_link(
        parameters: Mapping[str, str | list[str]] | None = None, /, **more: str | list[str]
    ) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=120)
        for name, value in {**(parameters or {}), **more}.items():
            app.query_params[name] = value
        return app.run()

    return open_link


@pytest.fixture
def visit_page() -> VisitPage:
    """Opens another page than the first by a link: `visit_page("masks", mask="causal")`."""

    def open_link(
        name: str, parameters: Mapping[str, str | list[str]] | None = None, /, **more: str | list[str]
    ) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=120)
        app.switch_page(f"pages/{name}.py")
        for key, value in {**(parameters or {}), **more}.items():
            app.query_params[key] = value
        return app.run()

    return open_link
