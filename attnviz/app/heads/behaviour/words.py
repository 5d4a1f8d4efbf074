"""The model's own special tokens as Markdown, and how a rule treats them."""

from __future__ import annotations

from attnviz.analysis.rules import Rule, Special
from attnviz.app import markdown
from attnviz.text import joined


def in_markdown(special: Special) -> Special:
    """The same with names that stay as they are inside Markdown."""
    return Special(markdown.plain(special.first), tuple(map(markdown.plain, special.separators)))


def in_full(rule: Rule, special: Special) -> str:
    """How the rule treats special tokens, and what else decides its numbers; as Markdown."""
    plain = in_markdown(special)
    names = joined([name for name in (plain.first, *plain.separators) if name])
    if not names:
        return rule.detail
    if not rule.words:
        return f"{rule.detail}Not counted: what is looked at by {names}. "
    telling = joined(["*first*"] * bool(special.first) + ["*separator*"] * bool(special.separators))
    return (
        f"{rule.detail}Left out: {names}; what goes to words counts as 100 %. What a head gives to {names} "
        f"is told by {telling}. "
    )
