"""What to look for in an example, in words that fit a page where both sentences stand side by side."""

from __future__ import annotations

from attnviz.app.examples import EXAMPLES, NEUTRAL, TRANSLATED, Example

_HERE = {
    EXAMPLES[0]: "One word at the end decides who *it* is. Look at *it* in head 4-2: does it change sides?",
    NEUTRAL[0]: "One word at the end decides who *it* is. Is there a head in which *it* changes sides?",
    TRANSLATED[3]: "*noir* follows its noun, *petit* does not: choose *cross* and see where they look.",
}


def remark_on(example: Example) -> str:
    """The example's remark, in Markdown; Explore's own words, unless they speak of what this page has not."""
    return _HERE.get(example, example.remark)
