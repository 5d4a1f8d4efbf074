"""A walk through all pages: no error, no lost sentence, and no parameters of other pages in the URL."""

from collections.abc import Callable

import pytest

from attnviz.app.state.choices import of_page
from tests.app.shown import APP, clean, visit

PAGES = [path.stem for path in sorted((APP.parent / "pages").glob("*.py"))]
SENTENCES = {
    "text": "The cat sat because it was tired.",
    "english": "The dog did not cross the road as it was too narrow.",
}


@pytest.mark.usefixtures("short_corpora")
def test_every_page_keeps_the_visitors_sentences(opened: Callable[[str], str]) -> None:
    opened("vit")
    app = visit("translate", english=SENTENCES["english"])
    app.switch_page("pages/explore.py").run()
    clean(app.text_input(key="text").set_value(SENTENCES["text"]).run())
    clean(app.number_input(key="layer").set_value(2).run())
    for page in (*PAGES, *reversed(PAGES)):
        clean(app.switch_page(f"pages/{page}.py").run())
        choices = of_page(page)
        for name, sentence in SENTENCES.items():
            assert name not in choices or app.session_state[name] == sentence, page
        if choices:  # AppTest keeps the parameters on a page without choices
            assert not set(app.query_params) - set(choices) - {"teacher"}, page
