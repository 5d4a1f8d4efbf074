"""A report in one HTML file: its size, its data, its content security policy, and how it escapes texts."""

import base64
import gzip
import hashlib
import re
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.display_tokens import DisplayTokens, shown_share, shown_weights
from attnviz.errors import AttnvizError, InvalidTrace
from attnviz.export.report import contents as module
from attnviz.export.report.notebook import VIEWS, Figure, show
from attnviz.export.report.page import InitialView, report
from attnviz.trace import Kind, Trace
from tests.export.report.page_data import Elements, facts_of, weights_in
from tests.export.report.small_traces import TARGET, TEXT, block, encoder, tokens, translator

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]> & &lt; ' \" ` ${1}",
    "a\u2028b\x00c \u202e d",
    '"></iframe><img src=x onerror=alert(1)>',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_escaped_in_a_page(text: str) -> None:
    tokens_read = tokens(text.replace(" ", "·"), before=text, after="[SEP]")
    page = report(Trace(model=text, text=text, blocks=(block("encoder", 0, tokens_read, tokens_read),)))
    tags = [tag for tag, _ in Elements(page).found]
    expected = "html meta meta meta meta meta title style noscript main script script script"
    assert " ".join(tags) == expected
    [trace_data] = facts_of(page)["traces"]
    assert trace_data["texts"] == [{"name": "", "typed": text, "written": ""}]
    assert trace_data["model"] == text
    assert page.isascii() or text not in page


def page_in(figure: Figure) -> str:
    """Return the page that a browser decompresses in a figure's frame."""
    [(frame, _)] = Elements(figure._repr_html_()).of("iframe")
    [packed] = re.findall(r'atob\("([\w+/=]*)"\)', str(frame["srcdoc"]))
    return gzip.decompress(base64.b64decode(packed)).decode()


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_are_escaped_in_a_figure(text: str) -> None:
    figure = show(encoder(text, model=text))
    parsed = Elements(figure._repr_html_())
    assert [tag for tag, _ in parsed.found] == ["div", "div", "p", "img", "iframe", "style", "script"]
    [(attributes, _)] = parsed.of("iframe")
    assert page_in(figure) == figure.page
    [(picture, _)] = parsed.of("img")
    assert base64.b64decode(str(picture["src"]).partition(",")[2]).decode() == figure.picture.svg()
    assert picture["alt"] == attributes["title"] == figure.title
    assert attributes["sandbox"] == "allow-scripts allow-downloads"


def test_the_content_security_policy_allows_only_the_code_of_the_page() -> None:
    parsed = Elements(report(encoder()))
    [policy] = [str(meta["content"]) for meta, _ in parsed.of("meta") if "http-equiv" in meta]
    [code] = [text for attributes, text in parsed.of("script") if not attributes]
    [(_, style)] = parsed.of("style")
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (code, style)]
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{digests[0]}'",
        f"style-src 'sha256-{digests[1]}'",
        "img-src blob: data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]


@pytest.mark.parametrize("sink", [0, 10])
@pytest.mark.parametrize(("size", "limit"), [(16, 1_000_000), (128, 7_000_000)])
def test_a_page_of_72_heads_is_small(size: int, limit: int, sink: float) -> None:
    trace = encoder(" ".join(f"word{n}" for n in range(size - 2)), layers=6, heads=12, sink=sink)
    assert len(report(trace).encode()) <= limit


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_weights_in_a_page_equal_the_trace(kind: Kind, hide: bool) -> None:
    trace = translator()
    first = trace.of_kind(kind)[0]
    texts = {"encoder": (TEXT, TEXT), "decoder": (TARGET, TARGET), "cross": (TARGET, TEXT)}[kind]
    sides = zip((first.query_tokens, first.key_tokens), texts, strict=True)
    shown = [DisplayTokens(side, text, hide_special=hide) for side, text in sides]
    expected = shown_weights(trace.stack(kind), *shown)
    found = weights_in(report(trace), kind, "hidden" if hide else "plain")
    allowed = first.mask[np.ix_(*(side.visible for side in shown))]
    assert np.isnan(found[..., ~allowed]).all()
    assert found[..., allowed].size > 0
    np.testing.assert_array_equal(found[..., allowed], expected[..., allowed])


@pytest.mark.parametrize("words", [19, 61])
def test_weights_are_exact_in_rows_that_attend_mostly_to_hidden_tokens(words: int) -> None:
    trace = encoder(" ".join(f"w{n}" for n in range(words)), sink=200)
    shown = DisplayTokens(trace.blocks[0].query_tokens, trace.text, hide_special=True)
    shares = shown_share(trace.stack("encoder"), shown)
    assert shares.max() > 0.1
    assert shares.min() == 0  # rounded to 0 in float32
    assert ((shares > 1e-8) & (shares < 1e-4)).any()
    expected = shown_weights(trace.stack("encoder"), shown)
    np.testing.assert_array_equal(weights_in(report(trace), "encoder", "hidden"), expected)


def test_generated_text_is_separate_from_typed_text() -> None:
    assert facts_of(report(translator()))["traces"][0]["texts"] == [
        {"name": "", "typed": TEXT, "written": ""},
        {"name": "decoder text", "typed": "le ", "written": "chien vit"},
    ]


def test_a_page_can_contain_several_traces() -> None:
    traces = [translator(), encoder(), encoder("a b")]
    page = report(traces, InitialView(kind="cross", layer=1, head=2, query=3, view="matrix"))
    facts = facts_of(page)
    assert [trace_data["texts"][0]["typed"] for trace_data in facts["traces"]] == [TEXT, TEXT, "a b"]
    opening = {name: facts["open"][name] for name in ("text", "kind", "layer", "heads", "query", "view")}
    assert opening == {
        "text": 1, "kind": "cross", "layer": 2, "heads": [3], "query": 4, "view": "matrix",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("opening", "sentence"),
    [
        (InitialView(kind="cross"), "no cross attention"),
        (InitialView(layer=2), r"no head 3-1: .* 2 layers \(1 and 2\) of 3 heads"),
        (InitialView(head=3), r"no head 1-4: .* 2 layers \(1 and 2\) of 3 heads"),
        (InitialView(query=-1), "no token -1: counted from 0, the last one is 6"),
    ],
)
def test_an_initial_view_that_does_not_exist_is_refused(opening: InitialView, sentence: str) -> None:
    with pytest.raises(InvalidTrace, match=sentence):
        report(encoder(), opening)


def test_the_error_for_a_long_text_suggests_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WEIGHTS", 100)
    with pytest.raises(AttnvizError, match=r"294 weights.*from 7 tokens to about 4") as error:
        report(encoder())
    assert "about 4" in str(error.value)
    report(encoder("a b"))  # four tokens: 2 layers × 3 heads × 16 weights


@pytest.mark.parametrize("view", [None, *VIEWS])
def test_a_figure_contains_only_what_its_view_shows(view: Any) -> None:
    trace = translator()
    figure = show(trace, kind="cross", layer=1, head=2, query=3, view=view)
    facts = facts_of(figure.page)
    assert facts["show"] == {None: ["atlas", "head"], "atlas": ["atlas"]}.get(view, ["head"])
    kinds = facts["traces"][0]["kinds"]
    single_head = view in {"lines", "matrix"}
    assert [kind["kind"] for kind in kinds] == (["cross"] if single_head else ["encoder", "decoder", "cross"])
    assert kinds[-1]["layers"] == ([2] if single_head else [1, 2])
    assert repr(figure) == (
        "<attnviz: All heads of made>" if view == "atlas" else "<attnviz: Layer 2, head 3 of made>"
    )


def test_a_figure_has_the_given_theme() -> None:
    for theme, expected in {"light": "light", "dark": "dark", "auto": "light dark"}.items():
        page = show(encoder(), theme=theme).page  # type: ignore[arg-type]  # a str for a Literal
        assert facts_of(page)["theme"] == theme
        assert f'<meta name="color-scheme" content="{expected}">' in page
    assert show(encoder()).page == show(encoder(), theme="auto").page
    assert facts_of(report(encoder()))["theme"] == "auto"
    with pytest.raises(AttnvizError, match=r"Unknown theme 'pink'\. Choose one of light, dark, auto"):
        show(encoder(), theme="pink")  # type: ignore[arg-type]  # an invalid theme


@pytest.mark.parametrize(
    ("model", "expected"), [("/ada/models/mine", "mine"), ("./mine", "mine"), ("owner/mine", "owner/mine")]
)
def test_a_page_does_not_contain_the_folder_of_a_model(model: str, expected: str) -> None:
    page = report(encoder(model=model))
    assert facts_of(page)["traces"][0]["model"] == expected
    assert repr(show(encoder(model=model))) == f"<attnviz: Layer 1, head 1 of {expected}>"
