"""Cards of pages."""

from tests.app.shown import clean, visit


def test_the_cards_mark_the_pages_of_this_visit() -> None:
    app = visit("scale")
    app.switch_page("pages/learn.py")
    clean(app.run())
    marked = [html.proto.body for html in app.get("html") if '"small-picture"' in html.proto.body]
    assert [at for at, body in enumerate(marked, 1) if "visited" in body] == [3]
    assert all("data:image/svg+xml" in body for body in marked)
