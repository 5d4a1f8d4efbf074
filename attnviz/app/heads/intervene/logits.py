"""Contributions of each part to the difference of two logits, and the prediction after each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st

from attnviz.analysis.decomposition import Contributions, contributions
from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import names_of
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.components.token_bars import token_bars
from attnviz.app.heads import choosing
from attnviz.app.heads.intervene import words
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.references import cited_markdown
from attnviz.app.server.cache import cached
from attnviz.app.state.choices import LOGIT_AGAINST, LOGIT_OF
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.text import decimal, head_name, isolated, percent
from attnviz.trace import Floats, Kind

_NUM_OFFERED = 10  # number of tokens in the selects
_NUM_LISTED = 12  # number of drawn contributions


@dataclass(frozen=True, eq=False)
class _LikelyTokens:
    """The most likely tokens at a position, and their probabilities after each layer.

    Attributes:
        ids: Token ids, most likely first.
        labels: Label of each token.
        probabilities: [layer + 1, token], after the embeddings and after each layer.
        best: Most likely token after the embeddings and after each layer.
    """

    ids: tuple[int, ...]
    labels: tuple[str, ...]
    probabilities: Floats
    best: tuple[str, ...]


@cached("Decoding after each layer …")
def _likely(model: Entry, given: ModelInput, place: int) -> _LikelyTokens:
    with loading.gate:  # imported late, because attnviz's own models do not need transformers
        from attnviz.capture.residual_stream import logit_lens

    loaded = loading.opened(model)
    logits = logit_lens(loaded, given, place).logits
    after = np.exp(logits - logits.max(axis=1, keepdims=True))
    after /= after.sum(axis=1, keepdims=True)
    ids = tuple(map(int, np.argsort(-after[-1], kind="stable")[:_NUM_OFFERED]))
    best = loaded.words(after.argmax(axis=1).tolist())
    return _LikelyTokens(ids, loaded.words(ids), after[:, ids], best)


@cached("Decomposing the logits …")
def _parts(model: Entry, given: ModelInput, place: int, one: int, other: int) -> tuple[Contributions, float]:
    """Return each part's contribution to the difference of two logits, and the difference of their biases."""
    with loading.gate:
        from attnviz.capture.residual_stream import decomposition

    found = decomposition(loading.opened(model), given, place)
    (first, bias), (second, other_bias) = found.logit(one), found.logit(other)
    return contributions(found.parts, first - second), bias - other_bias


def draw(chosen: Intervention, place: int) -> None:
    """Draw the contributions to the difference of two tokens' logits, and the logit lens."""
    try:
        likely = _likely(chosen.entry, chosen.given, place)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/block:")
        return
    names = {f"{rank} {label}": at for at, (rank, label) in enumerate(enumerate(likely.labels, 1))}
    left, right = st.columns(2)
    with left:
        one = names[LOGIT_OF.select("Token", list(names))]
    with right:
        others = [name for name, at in names.items() if at != one]
        other = names[LOGIT_AGAINST.select("Compared with", others)]
    found, bias = _parts(chosen.entry, chosen.given, place, likely.ids[one], likely.ids[other])
    first, second = (markdown.code(likely.labels[at]) for at in (one, other))
    difference = found.total + bias
    position = words.position_text(chosen, place)
    cited_markdown(
        f"{position[0].upper()}{position[1:]}, the logit of {first} is **{decimal(abs(difference))}** "
        f"{'higher' if difference >= 0 else 'lower'} than the logit of {second}. The difference is the sum "
        "of the contributions of the model’s parts, plus the difference of the two output biases, if any: "
        "direct logit attribution (Elhage et al. 2021). The divisors of all layer norms are held fixed. The "
        "changes chosen above are not applied here. An effect that passes through later parts is attributed "
        "to those parts; patching shows a head’s total effect."
    )
    keys = {kind: choosing.groups(chosen.entry, chosen.given, kind)[-1] for kind in chosen.entry.kinds}
    bars, heads = st.columns(2, gap="large")
    with bars:
        _largest(found, keys)
    with heads:
        _heads(chosen, found)
        _lens(likely, one)


def _largest(found: Contributions, keys: Mapping[Kind, Sequence[DisplayToken]]) -> None:
    """Draw the largest contributions, in descending order of their absolute values.

    Args:
        found: The contributions.
        keys: Keys of each kind of attention.
    """
    parts = [("embedding", found.embeddings), ("biases", found.biases)]
    parts += [(f"FFN {at}", float(share)) for at, share in enumerate(found.feed_forward, start=1)]
    for kind, shares in found.attention.items():
        of_kind = "" if len(found.attention) == 1 else f"{kind} "
        names = names_of(keys[cast("Kind", kind)])
        parts += [
            (f"{of_kind}{head_name(layer, head)} {names[at]}", float(share))
            for (layer, head, at), share in np.ndenumerate(shares)
        ]
    parts = sorted(parts, key=lambda part: -abs(part[1]))[:_NUM_LISTED]
    longest = abs(parts[0][1]) or 1.0
    token_bars(
        "logit parts",
        title=f"The {len(parts)} largest contributions to the logit difference: a head and one key token, a "
        "feed-forward network (FFN), the embedding or the biases; bars show absolute values",
        bars=[
            {
                "number": rank,
                "label": label,
                "size": abs(share) / longest,
                "written": decimal(share, 3),
                "hint": f"{label}: contribution {decimal(share, 4)}",
                "marked": False,
            }
            for rank, (label, share) in enumerate(parts, start=1)
        ],
    )


def _heads(chosen: Intervention, found: Contributions) -> None:
    """Draw the total contribution of each head of a kind; a click selects a head."""
    kind: Kind = chosen.kind if chosen.kind in found.attention else "decoder"
    values = found.attention[kind].sum(axis=2)
    limit = float(np.abs(values).max()) or 1.0
    head_map(
        "logit heads",
        title=f"Contribution of each {kind} head to the logit difference, summed over all key tokens",
        values=values,
        texts=[f"contribution {decimal(value, 4)}" for value in values.ravel().tolist()],
        printed=[decimal(value, 2) for value in values.ravel().tolist()],
        low=(-limit, decimal(-limit)),
        high=(limit, decimal(limit)),
        kind="diverging",
        selected=(chosen.layer, chosen.head) if kind == chosen.kind else None,
        on_pick=controls.open_head,
    )


def _lens(likely: _LikelyTokens, one: int) -> None:
    """Draw the probability of a token, decoded after each layer."""
    last = len(likely.best) - 1
    token_bars(
        "logit lens",
        title=f"Probability of “{isolated(likely.labels[one])}” after each layer, and the layer’s most "
        "likely token",
        bars=[
            {
                "number": layer,
                "label": f"{'embedding' if not layer else f'layer {layer}'}: {best}",
                "size": float(share),
                "written": percent(float(share), 1),
                "hint": f"after {f'layer {layer}' if layer else 'the embedding'}: {percent(float(share), 1)}",
                "marked": layer == last,
            }
            for layer, (best, share) in enumerate(zip(likely.best, likely.probabilities[:, one], strict=True))
        ],
    )
    cited_markdown(
        ":small[The vector at this position after each layer, decoded with the model’s final layer norm and "
        "output matrix (logit lens, Nostalgebraist 2020). The last row is the model’s prediction. Earlier "
        "layers were not trained to be decoded like this.]"
    )
