"""The page of the plane without a browser: points and numbers against an independent computation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.plane import Keeps, plane
from attnviz.app.heads.plane.sections import PlaneSelection, _finding, find
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trace import Block
from tests.app.shown import labels, sent, visit, words

TIRED = "The dog did not cross the road as it was too tired."
IT, DOG = 9, 2


@pytest.fixture(scope="module")
def block() -> Block:
    return attnviz.trace(TIRED).block("encoder", 3)


def points(message: dict[str, Any]) -> tuple[Any, Any]:
    """Queries and keys as [point, 2]."""
    return np.transpose(message["points"]["query"]), np.transpose(message["points"]["key"])


def lengths(first: Any, second: Any) -> Any:
    return np.sqrt(((first[:, None] - second[None]) ** 2).sum(-1))


def test_it_opens_with_it_in_head_4_2_and_the_plane_of_most_variance(block: Block) -> None:
    app = visit("plane")
    message = sent(app, "plane")
    assert message["tokens"]["query"][message["query"]]["label"] == "it"
    query, key = points(message)
    together = np.concatenate([block.query[1], block.key[1]]).astype(np.float64)
    values, vectors = np.linalg.eigh(np.cov(together.T))
    expected = together @ vectors[:, -2:]
    np.testing.assert_allclose(lengths(query, key), lengths(expected[:15], expected[15:]), atol=1e-4)
    kept = float(values[-2:].sum() / values.sum())
    told = words(app)
    assert f"The plane keeps **{percent(kept)}** of the variance, which is how widely the points are" in told
    largest = percent(float(block.weights[1, IT, DOG]))
    assert f"`it` gives its largest weight, **{largest}**, to `dog`: the thickest line. The nearest" in told
    nearest = message["tokens"]["key"][int(lengths(query, key)[IT].argmin())]["label"]
    truly = message["tokens"]["key"][int(lengths(block.query[1], block.key[1])[IT].argmin())]["label"]
    assert nearest != truly
    assert f"The nearest key in this plane is `{nearest}`, but nearness here can mislead" in told
    assert f"in all 32 dimensions the nearest is `{truly}`." in told
    assert "principal components of queries and keys together: the two directions along which" in told


def chosen(keeps: Keeps = "distances", layer: int = 3) -> PlaneSelection:
    groups = DisplayTokens(loading.tokens("minilm", TIRED), TIRED).groups
    entry, given = catalogue.entry("minilm"), ModelInput(TIRED)
    return PlaneSelection(entry, "encoder", layer, 1, given, groups, groups, IT, keeps, False)


@pytest.mark.parametrize("layer", [0, 3])
@pytest.mark.parametrize("keeps", ["distances", "dot products"])
def test_of_every_query_it_is_said_whether_the_plane_misleads(keeps: Keeps, layer: int) -> None:
    head, found = attnviz.trace(TIRED).block("encoder", layer), find(chosen(keeps, layer))
    query, key = found.points.queries, found.points.keys
    told = set()
    for at in range(15):
        if keeps == "distances":
            both = ((query, key), (head.query[1], head.key[1]))
            here, truly = (lengths(*each)[at].argmin() for each in both)
        else:
            here, truly = (one[at].argmax() for one in (query @ key.T, head.query[1] @ head.key[1].T))
        told.add(case := (here == truly, truly == head.weights[1, at].argmax()))
        says = _finding(replace(chosen(keeps, layer), query=at), found)
        assert ("here and in all 32 dimensions, is" in says) == case[0]
        assert ("near is not the same as much." in says) == (keeps == "distances" and case == (True, False))
        assert ("here can mislead" in says) == (keeps == "distances" and not case[0])
        assert ("but the plane leaves something out" in says) == (keeps != "distances" and not case[0])
    assert len(told) > 1


def test_a_query_that_looks_at_hidden_tokens_only_has_no_largest_weight() -> None:
    found = find(chosen())
    told = _finding(chosen(), replace(found, allowed=np.zeros_like(found.allowed)))
    assert told.startswith("`it` looks at hidden tokens only. The plane keeps **")
    assert "largest weight" not in told


def test_hidden_tokens_are_no_points_and_the_rest_is_rescaled(block: Block) -> None:
    app = visit("plane", hide="true")
    message = sent(app, "plane")
    named = labels(message["tokens"]["key"])
    assert len(named) == len(message["points"]["key"][0]) == 13
    assert "[CLS]" not in named
    row = block.weights[1, IT, 1:-1]
    largest = percent(float(row[DOG - 1] / row.sum()))
    assert f"gives its largest weight, **{largest}**, to `dog`" in words(app)


def test_the_other_plane_keeps_dot_products(block: Block) -> None:
    app = visit("plane", keeps="dot products")
    expected = plane(block.query[1], block.key[1], "dot products")
    query, key = points(sent(app, "plane"))
    np.testing.assert_allclose(query @ key.T, expected.queries @ expected.keys.T, atol=1e-3)
    kept = percent(expected.kept)
    assert f"The plane keeps **{kept}** of the squares of all dot products." in words(app)
    # Without a bias or a mask, the largest dot product of all dimensions has the largest weight.
    assert "for **15 of 15** queries" in words(app)


def test_the_identity_is_worked_out_and_the_query_is_chosen(block: Block) -> None:
    query, key = block.query[1, IT].astype(np.float64), block.key[1, DOG].astype(np.float64)
    app = visit("plane")
    numbers = (query @ query, key @ key, ((query - key) ** 2).sum(), query @ key)
    assert "({:.1f} + {:.1f} − {:.1f}) / 2 = **{:.1f}**".format(*numbers) in words(app)
    named = labels(sent(app, "plane")["tokens"]["query"])
    assert named[1:3] + named[6:8] == ["the₂", "dog", "the₇", "road"]  # equal tokens bear their places
    assert sent(visit("plane", query="8 road"), "plane")["query"] == 7
    app.selectbox(key="query").set_value("3 dog").run()
    assert sent(app, "plane")["query"] == 2


@pytest.mark.parametrize("text", ["x", "שלום 😀", "**it** it $x$ :red[it] <script>alert(1)</script>"])
def test_strange_texts_have_planes(text: str) -> None:
    for hide in ("false", "true"):
        app = visit("plane", text=text, hide=hide)
        assert sent(app, "plane")["points"]["query"][0]


@pytest.mark.parametrize(
    ("family", "said"),
    [
        ("llama", ("A mask forbids some keys",)),
        ("t5", ("adds a bias for where the two tokens stand",)),
        ("bert", ()),
    ],
)
def test_what_a_model_does_besides_is_said(
    opened: Callable[[str], str], family: str, said: tuple[str, ...]
) -> None:
    app = visit("plane", model=opened(family), text="A cat sat on the mat.")
    told = words(app)
    notes = (
        "A mask forbids some keys",
        "adds a bias for where the two tokens stand",
    )
    assert tuple(note for note in notes if note in told) == said
