"""A visit to one Learn page without a browser."""

import pytest

from tests.app.conftest import VisitPage

VisitLesson = VisitPage


@pytest.fixture
def visit_lesson(visit_page: VisitPage) -> VisitLesson:
    """Opens a page by a link: `visit_lesson("masks", mask="causal")`."""
    return visit_page
