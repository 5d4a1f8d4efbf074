"""Why this number? One weight, worked out step by step from its query and key vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnviz.app.components.component import mount


def arithmetic(
    key: str, /, message: Mapping[str, Any], *, on_pick: Callable[[int], None] | None = None
) -> None:
    """Shows how softmax(QKᵀ/√d_head) gives one weight, for one head, one query token and one key token.

    Every number is drawn rounded, in as many decimals as it takes for the printed numbers to give the
    printed result, and stands unrounded in a `data-value` attribute beside it.

    Args:
        key: Streamlit's key of this widget.
        message: what is shown. Numbers are plain floats, finite (JSON has no −∞: a masked cell keeps its
            score from before the mask) and in full precision.

            query_label, key_label    the two tokens as text
            query_word, key_word      what the heading calls them, where pieces are merged; may be left out
            note                      a line of text below the heading; may be left out
            query_vector, key_vector  d_head floats each
            products                  d_head floats, query × key
            dot_product               the sum of products
            d_head                    int
            scale                     what the sum is multiplied by; 1/√d_head is shown as "÷ √d_head"
            bias                      added to the scaled sum, or None
            scaled                    dot_product × scale (+ bias)
            cap                       score is cap · tanh(scaled ÷ cap), or None: it is scaled
            score                     before the mask
            masked                    whether the mask forbids the query to attend to the key
            position                  the key's place in row, from 0
            row                       one entry for each key token, in the order of the sentence:
                                      {label, score, exponential, weight, masked} and, optionally, hidden.
                                      exponential is e^(score − row_maximum), 0 where masked.
                                      hidden marks a token that the page leaves out: the softmax counts it,
                                      so it is listed, but it cannot be picked.
            sink                      of a head that has one, the learned score that belongs to no token, as
                                      {score, exponential, weight}; else None
            row_maximum               the largest score that is not masked, the sink's included
            row_sum                   the sum of the exponentials, the sink's included
            weight                    exponential / row_sum, the model's own weight
            last_steps                what the page does to the weight afterwards, a list of lines (may be
                                      empty); a line is a list of texts and numbers, a number being
                                      {"value": float, "as": "percent" | "number"}
            result                    the weight that the rest of the page shows: the last line's last
                                      number, or weight when there is no such line
        on_pick: called with the place in row, from 0, of the key that was picked from the softmax list.
    """
    mount("arithmetic", key, message, on_pick=on_pick)
