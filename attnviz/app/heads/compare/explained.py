"""How words are aligned, what merging does, and by which formula a change is measured."""

from __future__ import annotations

from pathlib import Path

from attnviz.app import markdown, traces
from attnviz.app.heads.compare.compared import Comparison
from attnviz.app.references import cited_markdown

_TEXTS = markdown.parts(Path(__file__).with_suffix(".md"))


def _is_causal(compared: Comparison) -> bool:
    """Whether nothing brings a difference to the words before it, as attention to an encoder would."""
    return compared.model.kinds == ("decoder",)


def _have_sinks(compared: Comparison) -> bool:
    return any(
        traces.shown(compared.model, given, compared.kind, False, False)[-1].sink
        for given in (compared.first, compared.second)
    )


def draw(compared: Comparison) -> None:
    """Draw the rules."""
    rules = (
        *("sentences", "merging", "inserted", "measure"),
        *(["sink"] if _have_sinks(compared) else []),
        *(["causal"] if _is_causal(compared) else []),
    )
    cited_markdown("\n\n".join(_TEXTS[rule] for rule in rules))


def limits() -> None:
    """List what one cannot conclude."""
    cited_markdown(_TEXTS["limits"])
