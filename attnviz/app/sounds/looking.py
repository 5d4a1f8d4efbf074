"""Where a word or a frame looks in time: in every head in one number, and in one head under the waveform."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app import caches, controls, markdown
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.head_map import head_map
from attnviz.app.page import draw_copy_link
from attnviz.app.saving import file_name_of, npz_of, save_file
from attnviz.app.sounds import hearing
from attnviz.app.sounds.choosing import SoundForward
from attnviz.app.state.choices import MODEL
from attnviz.models.tokenizer import span_of
from attnviz.text import percent

_MOST = 3  # frames named in the sentence
_TIME = Axis("time, s")


def all_heads(heard: SoundForward, layer: int, head: int, looker: int) -> None:
    """Draw the largest weight that the token gives in each head; a click opens the head."""
    rows = heard.row(looker)
    largest = rows.max(axis=-1)
    most = float(largest.max())
    head_map(
        "heads that hear",
        title="Largest weight of this token in each head",
        values=largest,
        texts=[
            f"looks most at {_called(heard, int(row.argmax()))} ({_percent(row.max())})"
            for row in rows.reshape(-1, rows.shape[-1])
        ],
        low=(0.0, "0 %"),
        high=(most, _percent(most)),
        selected=(layer, head),
        on_pick=controls.open_head,
    )


def one_head(heard: SoundForward, layer: int, head: int, looker: int) -> None:
    """Draw the waveform and, under it, how much the token looks at each time of the sound."""
    name, row = heard.lookers[looker], heard.row(looker)[layer, head]
    st.audio(heard.file, format="audio/wav")
    own = heard.frames[: heard.heard]
    spans = np.array([span_of(frame) for frame in own])
    wave = hearing.envelope(heard.file)
    end = max(spans[-1, 1], wave.times[-1])
    ends = Line("", [0, end], [0, 0], colour="muted")  # so that both charts have one axis
    loudest = int(np.argmax(np.maximum(wave.high, -wave.low)))
    curves(
        "waveform",
        [
            Line(
                *("largest sample", wave.times, wave.high, wave.low, wave.high),
                band=True,
                dash=None,
                colour="muted",
            ),
            ends,
        ],
        title="The sound",
        across=_TIME,
        up=Axis("sample, −1 to 1", zero=True),
        at="{x} s",
        height=80,
        alt=f"The waveform of the sound. It is loudest at {wave.times[loudest]:.2f} s.",
        filename="waveform",
    )
    curves(
        "weights over time",
        [
            Line(
                "weight, %",
                spans.mean(axis=1),
                100 * row[: heard.heard],
                marker="circle" if len(own) < 2 else None,
                names=[frame.text for frame in own],
            ),
            ends,
        ],
        title=f"Head {layer + 1}-{head + 1}: where {name} looks",
        across=_TIME,
        up=Axis("weight, %", zero=True),
        at="{x}",
        height=160,
        alt=in_words(heard, layer, head, looker, marks=False),
        filename="weights-over-time",
    )
    st.markdown(in_words(heard, layer, head, looker))


def written(heard: SoundForward) -> str:
    """What Whisper made of the sound, as Markdown."""
    text = (heard.trace.target or "").strip()
    if not text:
        return "It wrote no word: its text ended at once, with its first likeliest token."
    return f"It wrote: *{markdown.plain(text)}* (it writes words for a sound that is no speech, too)."


def in_words(heard: SoundForward, layer: int, head: int, looker: int, *, marks: bool = True) -> str:
    """The picture's sentence: who looks at which times most, and how much goes to what is no sound.

    Args:
        heard: what was heard.
        layer, head: from 0.
        looker: the token that looks, from 0.
        marks: as Markdown; False: as plain text.
    """
    row = heard.row(looker)[layer, head]
    strongest = np.argsort(-row, kind="stable")[:_MOST]
    strong = "**" if marks else ""
    found = ", ".join(
        f"{_called(heard, int(frame))} {strong}{_percent(row[frame])}{strong}" for frame in strongest
    )
    name = heard.lookers[looker]
    who = f"*{markdown.plain(name)}*" if marks else name
    said = f"In head {layer + 1}-{head + 1}, {who} looks most at {found}."
    if heard.heard < len(row):
        silence = _percent(row[heard.heard :].sum())
        _, end = span_of(heard.frames[-1])
        said += (
            f" It gives {strong}{silence}{strong} to the silence with which Whisper fills up every sound to "
            f"{end:g} s, and which is not drawn."
        )
    return f"{said} If it looked at all {len(row):,} frames alike, each would get {percent(1 / len(row), 2)}."


def save(heard: SoundForward) -> None:
    """Draw the buttons."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_copy_link([MODEL.name])
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(heard.trace),
            f"{file_name_of(caches.called(heard.trace.model))}.npz",
            "Every query, key, value, score and weight of this page: for Python, attnviz.Trace.load or "
            "numpy.load.",
        )
    if heard.chosen.own:
        st.markdown(
            ":small[The link holds the model, the head and the word, and not your sound: whoever opens it "
            "uploads one there.]"
        )


def _called(heard: SoundForward, frame: int) -> str:
    token = heard.frames[frame]
    return f"{token.text} (silence behind the sound)" if token.special else token.text


def _percent(weight: float) -> str:
    """Of hundreds of frames each gets so little that whole percents would all read alike."""
    return percent(weight, 1)
