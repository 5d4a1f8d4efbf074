"""The way that a visitor came leads back, with the head that was open there; it is in no link."""

from streamlit.testing.v1 import AppTest

from tests.app.shown import clean, sent, visit


def way(app: AppTest) -> list[tuple[str, str]]:
    """The ways back: what stands on each, and what it takes along."""
    links = [link.proto for link in app.get("page_link") if link.proto.label.endswith("›")]
    return [(link.label, link.query_string) for link in links]


def go(app: AppTest, page: str, **link: str) -> AppTest:
    app.switch_page(f"pages/{page}.py")
    for name, value in link.items():
        app.query_params[name] = value
    return clean(app.run())


def test_the_trail_leads_back_to_each_view_and_ends_where_it_led() -> None:
    app = visit("behaviour", layer="2", head="9")
    assert not way(app)
    go(app, "explore", layer="1", head="3")
    [(label, query)] = way(app)
    assert label == "Behaviour 2-9 ›"
    assert "layer=2&head=9" in query
    assert "Behaviour" not in sent(app, "copy_link")["query"]
    go(app, "many_heads")
    assert [label for label, _ in way(app)] == ["Behaviour 2-9 ›", "Explore 1-3 ›"]
    go(app, "behaviour", layer="2", head="9")
    assert not way(app)


def test_the_trail_names_the_last_three_pages() -> None:
    app = visit("scale")
    for page in ("learn", "heads", "models", "explore"):
        go(app, page)
    assert [label for label, _ in way(app)] == ["Learn ›", "Heads ›", "Models ›"]


def test_the_cards_mark_the_pages_of_this_visit() -> None:
    app = visit("scale")
    go(app, "learn")
    marked = [html.proto.body for html in app.get("html") if '"small-picture"' in html.proto.body]
    assert [at for at, body in enumerate(marked, 1) if "visited" in body] == [2]
    assert all("data:image/svg+xml" in body for body in marked)
