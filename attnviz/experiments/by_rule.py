"""Scores of heads over many sentences, by the rules of `attnviz.analysis.rules`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.rules import SINGLE_RULES, RuleScores, rule_scores
from attnviz.experiments.corpus import FILE
from attnviz.experiments.scoring import HeadTest, Scored, Source
from attnviz.trace import Kind, Trace

_NAMES = {"previous": "previous token", "next": "next token", "first": "first token"}


def _read(text: str, traces: Sequence[Trace], kind: Kind) -> RuleScores:
    [trace] = traces
    blocks = trace.of_kind(kind)
    mask = np.stack([block.mask for block in blocks])
    tokens = DisplayTokens(blocks[0].query_tokens, text)
    return rule_scores(SINGLE_RULES, trace.stack(kind), mask, tokens, None)


SENTENCES = Source(
    name="rules",
    unit="sentence",
    example="The ferry was late again.\nWho left the gate open?",
    file=FILE,
    parse=lambda corpus: corpus,
    texts=lambda line: (line,),
    read=_read,
)
"""Plain sentences, one per line."""


def _score(index: int, read: RuleScores) -> Scored:
    """Score a sentence by a single rule; the baseline is uniform attention over the unmasked keys."""
    counts, score, raw, uniform = (each[index] for each in read)
    scores = np.where(counts[:, None], score, np.nan)
    weights = raw if SINGLE_RULES[index].is_attention else np.full_like(raw, np.nan)
    return Scored(scores[None], weights[None], {"uniform attention": uniform[None, :, None]})


# Tests refer to a rule by index: Ray sends copies of them, and a copied rule is not in SINGLE_RULES.
TESTS = tuple(
    HeadTest(_NAMES.get(rule.name, rule.name), rule.definition, SENTENCES, partial(_score, index))
    for index, rule in enumerate(SINGLE_RULES)
)
