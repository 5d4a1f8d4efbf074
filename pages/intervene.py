"""Ablate or redirect heads, and see the effect."""

from attnviz.app.folded import NOT_SHOWN, folded, section
from attnviz.app.heads.intervene import choices, effect, logits, patched, ranking
from attnviz.app.heads.tool import tool
from attnviz.app.state.choices import LOGIT_AGAINST, LOGIT_OF, PATCHED_WITH

with tool("intervene"):
    chosen, figure, effect_place = choices.choose()
    place = effect.draw(chosen, figure, effect_place)
    likely = section("What makes a word likely?", logits.draw, chosen, place or 0)
    folded(
        section("Which head matters most?", ranking.draw, chosen, place),
        section("Activation patching with a second sentence", patched.draw, chosen, place).with_choices(
            PATCHED_WITH
        ),
        *(() if place is None else (likely.with_choices(LOGIT_OF, LOGIT_AGAINST),)),
        section(NOT_SHOWN, effect.limits),
    )
