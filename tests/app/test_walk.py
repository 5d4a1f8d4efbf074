"""Through all pages with sentences of one's own: no error, no lost sentence, no leftovers in the address."""

from collections.abc import Callable

import pytest

from attnviz.app.state.choices import of_page
from tests.app.shown import APP, clean, visit

PAGES = [path.stem for path in sorted((APP.parent / "pages").glob("*.py"))]
SENTENCES = {
    "text": "The cat sat because it was tired.",
    "english": "The dog did not cross the road as it was too narrow.",
}


@pytest.mark.usefixtures("little_to_read")
def test_every_page_opens_after_all_others_with_the_visitors_sentences(opened: Callable[[str], str]) -> None:
    opened("vit")
    app = visit("translate", english=SENTENCES["english"])
    app.switch_page("pages/explore.py").run()
    clean(app.text_input(key="text").set_value(SENTENCES["text"]).run())
    clean(app.number_input(key="layer").set_value(2).run())
    for page in (*PAGES, *reversed(PAGES)):
        clean(app.switch_page(f"pages/{page}.py").run())
        here = of_page(page)
        for name, sentence in SENTENCES.items():
            assert name not in here or app.session_state[name] == sentence, page
        if here:  # what has no choices writes nothing into the address: there the browser takes out the rest
            assert not set(app.query_params) - set(here) - {"teacher"}, page
