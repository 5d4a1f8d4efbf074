"""The pronouns: all heads, one of them, what it fails on, and the visitor's own pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import markdown
from attnviz.app.folded import EVERYTHING, folded, section
from attnviz.app.heads import choosing
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns import all_heads, choices, computing, listing, one_head, onward, own
from attnviz.app.heads.pronouns.figures import fine, marked
from attnviz.app.job_view import counted, show_job
from attnviz.app.state.choices import CASES, FIRST_MEANT, OPEN, OTHER, PAIRS, QUERY, SECOND_MEANT
from attnviz.errors import AttnvizError
from attnviz.experiments import pairs
from attnviz.experiments.coreference import LOOKS, Looks, Verdicts
from attnviz.experiments.pairs import Pair
from attnviz.experiments.progress import Progress
from attnviz.text import plural


def draw(chosen: HeadSelection, beside: DeltaGenerator) -> None:
    """Draw the page; while the pairs are read, the map streams. `beside`: the place beside the model."""
    with beside:
        looks = choices.who_looks(chosen)
        source = PAIRS.segments("Pairs", (OURS, PASTED, UPLOADED))
    given = _pairs_of(source)
    latest = _read(chosen, given, looks) if given else None
    found = latest.found if latest is not None and latest.found.pairs else None
    finished = latest is not None and latest.finished

    def when_read(draw_section: Callable[..., object], *more: object) -> None:
        if found is not None:
            draw_section(chosen, found, looks, *more)
        else:
            running = bool(given) and computing.verdicts(chosen, given).running
            st.markdown("This comes when all pairs are read." if running else "No pair has been read.")

    def cases() -> None:
        when_read(_cases, listing.choose())

    folded(
        section("How sure is that?", when_read, all_heads.how_sure, finished),
        section("All heads in order", when_read, all_heads.ranked),
        section("This head in numbers", when_read, one_head.draw),
        section(listing.HEADING, cases).with_choices(CASES),
        section(_OWN, own.draw, chosen, looks).with_choices(OTHER, QUERY, FIRST_MEANT, SECOND_MEANT),
    )
    if OPEN.get(None) not in (_OWN, EVERYTHING):
        choosing.unread_sentence(chosen.entry)


_OWN = "Your own pair"


def _read(chosen: HeadSelection, given: Sequence[Pair], looks: Looks) -> Progress[Verdicts] | None:
    """Draw what all heads do; return it once it stands still."""

    def stream(latest: Progress[Verdicts]) -> None:
        all_heads.draw(chosen, latest, looks, still=False)

    job, words = computing.verdicts(chosen, given), counted("Reading the pairs", "pairs")
    latest = show_job(job, words, stream, key="pronouns", only_running=True)
    if latest is not None:
        all_heads.draw(chosen, latest, looks, still=True)
    return latest


_WAYS = {"pronoun": "from the pronoun to each noun", "nouns": "from each noun to the pronoun"}


def _cases(chosen: HeadSelection, found: Verdicts, looks: Looks, which: str) -> None:
    """List pairs, the head's failures first."""
    right = found.right(looks)[:, :, chosen.layer, chosen.head]
    both = np.asarray(right.all(axis=1))
    st.markdown(
        f"Head {chosen.name} resolves {plural(int(both.sum()), 'pair')} and fails on "
        f"{(~both).sum() or 'none'}. The percentages are the model’s own weights {_WAYS[looks]}; the noun "
        "that is meant stands in bold letters."
    )

    def draw_one(place: int) -> None:
        _draw_case(chosen, found, looks, place)

    listing.draw("pairs", listing.places(both, which), draw_one)


def _draw_case(chosen: HeadSelection, found: Verdicts, looks: Looks, place: int) -> None:
    pair = found.pairs[place]
    right = found.right(looks)[place, :, chosen.layer, chosen.head]
    weights = found.weights[LOOKS.index(looks), place, :, :, chosen.layer, chosen.head]
    for reading, seen, is_right in zip(pair.readings, weights, right, strict=True):
        names = [
            f"**{markdown.plain(name)} {fine(float(weight))}**"
            if nth == reading.right
            else f"{markdown.plain(name)} {fine(float(weight))}"
            for nth, (name, weight) in enumerate(zip(pair.candidates, seen, strict=True))
        ]
        written = marked(reading.text, [(reading.pronoun, "*"), (reading.deciding, "**")])
        st.markdown(f"{'✓' if is_right else '✗'} {written} → {', '.join(names)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        # Of the two sentences, the one on which it fails; of none, the first.
        onward.pair(chosen, pair, pair.readings[int(right.argmin())], "Open this pair on Explore")
        if pair.famous:
            st.badge("famous", color="gray")


OURS, PASTED, UPLOADED = "Our pairs", "Paste pairs", "Upload pairs"


def _pairs_of(source: str) -> tuple[Pair, ...]:
    """The pairs, with a box for the visitor's own; none where they cannot be read, which is told."""
    if source == OURS:
        return pairs.bundled()
    example = "\n".join(pairs.FILE.read_text("utf-8").split("\n\n")[-1].splitlines()[1:3])
    st.markdown(
        "One pair a line: both nouns in `[ ]`, the pronoun in `* *`, and in `{ }` what differs, each with "
        "what the pronoun means then. Of two equal nouns the first is `dog#1`. A link does not bring them "
        "along."
    )
    if source == PASTED:
        text = st.text_area(
            "Pairs", example, key="pasted pairs", persist_state="session", height=130, placeholder=example
        )
    else:
        file = st.file_uploader(
            f"A text file in UTF-8, up to {pairs.MOST_PAIRS:,} pairs",
            ["txt"],
            max_upload_size=pairs.MOST_MEGABYTES,
        )
        if file is None:
            return ()
        try:
            text = pairs.decoded(file.getvalue(), file.name)
        except AttnvizError as error:
            return _refused(error)
    try:
        return pairs.parse(text)
    except AttnvizError as error:
        return _refused(error)


def _refused(error: AttnvizError) -> tuple[Pair, ...]:
    st.error(markdown.plain(str(error)), icon=":material/edit:")
    return ()
