"""A visit to one Learn page without a browser."""

from collections.abc import Callable, Mapping

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.conftest import APP

VisitLesson = Callable[..., AppTest]


@pytest.fixture
def visit_lesson() -> VisitLesson:
    """Opens a page by a link: `visit_lesson("masks", mask="causal")`."""

    def open_link(
        name: str, parameters: Mapping[str, str | list[str]] | None = None, /, **more: str | list[str]
    ) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=120)
        app.switch_page(f"pages/{name}.py")
        for key, value in {**(parameters or {}), **more}.items():
            app.query_params[key] = value
        return app.run()

    return open_link
