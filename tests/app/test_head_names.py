"""Every head that a page names can be opened by its name, in the text that the page is about."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app import head_names, markdown
from tests.app.shown import APP, HEAD_LINK, clean, finished, try_page, visit

PAGES = [path.stem for path in sorted((APP.parent / "pages").glob("*.py"))]
NAME = re.compile(r"(?<![\w.–/\\-])[1-9]\d?-[1-9]\d?(?![\w–-]|\.\d)")
CODE = re.compile(r"`[^`]*`")  # what a visitor typed, or how heads are called

# What names heads and is no link: why.
OF_NO_MODEL = {
    "watch_it_learn": "a head at a step of its training is none of a model that Explore has",
}
IS_NO_TEXT = {
    "header": "names the open head, whose picture stands below it",
    "subheader": "the same",
    # buttons, links and the cells of pictures open something themselves
}


def texts(app: AppTest) -> Iterator[tuple[str, str]]:
    """All that a page says, and by which element."""
    for kind in ("markdown", "caption", "title", "text", "info", "warning", "success"):
        yield from ((kind, str(getattr(each, "value"))) for each in app.get(kind))  # noqa: B009 - it may be a block
    yield from (("expander", each.label) for each in app.expander)


@pytest.mark.usefixtures("little_to_read")
@pytest.mark.parametrize("page", [page for page in PAGES if page not in OF_NO_MODEL])
def test_every_name_of_a_head_is_a_link_to_that_head(page: str) -> None:
    for kind, text in texts(finished(try_page(page))):
        assert kind not in IS_NO_TEXT
        assert not NAME.search(CODE.sub("", HEAD_LINK.sub("", text))), (kind, text)
        for name, query in HEAD_LINK.findall(text):
            asked = parse_qs(query)
            assert f"{asked['layer'][0]}-{asked['head'][0]}" == name


@pytest.mark.usefixtures("little_to_read")
@pytest.mark.parametrize(
    ("page", "brought"),
    [
        ("score_heads", {"text": "A cat sat.", "model": "minilm"}),
        ("compare", {"text": "A cat sat.", "other": "A dog sat."}),
        ("masks", {"text": "A cat sat."}),
        ("translate", {"english": "The cat was tired."}),
    ],
)
def test_a_name_opens_its_head_with_what_the_page_reads(page: str, brought: dict[str, str]) -> None:
    app = finished(try_page(page, brought))
    name, query = next(iter(HEAD_LINK.findall("\n".join(text for _, text in texts(app)))))
    opened = clean(visit("explore", {key: value for key, [value] in parse_qs(query).items()}))
    assert "-".join(str(opened.session_state[key]) for key in ("layer", "head")) == name
    wanted = {"text" if key == "english" else key: value for key, value in brought.items()}
    assert {key: opened.session_state[key] for key in wanted} == wanted
    assert not opened.warning


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("in **4-2**, more", "in **[4-2](./?model=minilm&text=A+cat.&layer=4&head=2)**, more"),
        *(
            (same, same)
            for same in ("7-1", "4-13", "1–2", "2026-11-23", "`4-2`", "$4-2$", "4-2.5", "[4-2](x)")
        ),
        *((same, same) for same in ("cross head 4-2", "gpt-4-2", "v1.4-2", markdown.plain("they won 4-2"))),
    ],
)
def test_only_names_of_heads_that_the_model_has_are_links(text: str, drawn: str) -> None:
    with head_names.of("minilm", "A cat."):
        assert head_names.linked(text) == drawn


def test_of_a_model_with_several_kinds_of_attention_the_link_names_the_kind() -> None:
    asked = "./?model=translator&text=It+slept.&kind="
    with head_names.of("translator", "It slept."):
        assert head_names.linked("encoder head 2-1, cross 1-3, 2-4") == (
            f"encoder head [2-1]({asked}encoder&layer=2&head=1), "
            f"cross [1-3]({asked}cross&layer=1&head=3), [2-4]({asked}encoder&layer=2&head=4)"
        )
    with head_names.of("", "It slept."):
        assert head_names.linked("encoder head 2-1") == "encoder head 2-1"
