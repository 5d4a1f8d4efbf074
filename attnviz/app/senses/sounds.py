"""Where a word or a frame looks in time: in every head in one number, and in one head under the waveform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.head_map import head_map
from attnviz.app.senses import hearing
from attnviz.app.senses.sense import FileSelection, Sense, forward, share, strongest
from attnviz.app.senses.sound_samples import SAMPLES, sample
from attnviz.app.state import link
from attnviz.app.state.choices import LOOKER, SOUND
from attnviz.models.families import HEARS
from attnviz.models.tokenizer import span_of
from attnviz.text import head_name, joined, percent
from attnviz.trace import Floats, Token, Trace

_TIME = Axis("time, s", at="{x} s")
_FAMILIES = joined([f"`{family}`" for family in sorted(HEARS)])

HEARING = Sense(
    what="sound",
    does="hears sounds",
    has=lambda entry: entry.hears,
    how=f"Open one of the families {_FAMILIES} on the page on models: a folder of this machine, or an id on "
    "Hugging Face such as `openai/whisper-tiny`.",
    example=SOUND,
    names=SAMPLES,
    sample=sample,
    kinds="WAV",
    endings=["wav"],
    trace=hearing.trace,
    icon=":material/volume_off:",
    holds="the head and the word",
)


@dataclass(frozen=True)
class HeardSound:
    """A sound as a file, and the forward pass of a model over it."""

    file: bytes
    trace: Trace

    @property
    def frames(self) -> tuple[Token, ...]:
        """The times that are looked at."""
        return hearing.layers(self.trace)[0].key_tokens

    @property
    def heard(self) -> int:
        """How many of these are the sound's own; silence fills up the rest."""
        return sum(not frame.special for frame in self.frames)

    @property
    def lookers(self) -> list[str]:
        """The names of the tokens that look: "5 dog" of Whisper's words, or a frame's times."""
        tokens = hearing.layers(self.trace)[0].query_tokens
        if self.trace.target is None:
            return [token.text for token in tokens]
        texts = (self.trace.target[token.start : token.end] or token.text for token in tokens)
        return [f"{place} {text.strip()}" for place, text in enumerate(texts, start=1)]

    def row(self, looker: int) -> Floats:
        """[layer, head, frame]: where one token looks in every head."""
        return np.stack([block.weights[:, looker] for block in hearing.layers(self.trace)])


def hear(chosen: FileSelection) -> HeardSound | None:
    """Let the model listen; without a sound that it can hear, say what helps, and return None."""
    if chosen.missing:
        link.postpone()  # the token that looks, until there are tokens
    trace = forward(HEARING, chosen)
    return None if trace is None else HeardSound(chosen.file, trace)


def choose_looker(heard: HeardSound) -> int:
    """Draw the choice of the token that looks, first the one in the middle; return its number, from 0."""
    names = heard.lookers
    label = "Frame that looks" if heard.trace.target is None else "Word that looks"
    return names.index(LOOKER.select(label, names, names[len(names) // 2], width=320))


def all_heads(heard: HeardSound, layer: int, head: int, looker: int) -> None:
    """Draw the largest weight that the token gives in each head; a click opens the head."""
    rows = heard.row(looker)
    largest = rows.max(axis=-1)
    most = float(largest.max())
    head_map(
        "heads that hear",
        title="Largest weight of this token in each head",
        values=largest,
        texts=[
            f"looks most at {_called(heard, int(row.argmax()))} ({share(row.max())})"
            for row in rows.reshape(-1, rows.shape[-1])
        ],
        low=(0.0, "0 %"),
        high=(most, share(most)),
        selected=(layer, head),
        on_pick=controls.open_head,
    )


def one_head(heard: HeardSound, layer: int, head: int, looker: int) -> None:
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
        height=80,
        alt=f"The waveform of the sound. It is loudest at {wave.times[loudest]:.2f} s.",
    )
    curves(
        "weights-over-time",
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
        title=f"Head {head_name(layer, head)}: where {name} looks",
        across=Axis(_TIME.label),
        up=Axis("weight, %", zero=True),
        height=160,
        alt=in_words(heard, layer, head, looker, marks=False),
    )
    st.markdown(in_words(heard, layer, head, looker))


def written(heard: HeardSound) -> str:
    """What Whisper made of the sound, as Markdown."""
    text = (heard.trace.target or "").strip()
    if not text:
        return "It wrote no word: its text ended at once, with its first likeliest token."
    return f"It wrote: *{markdown.plain(text)}* (it writes words for a sound that is no speech, too)."


def in_words(heard: HeardSound, layer: int, head: int, looker: int, *, marks: bool = True) -> str:
    """The picture's sentence: who looks at which times most, and how much goes to what is no sound.

    Args:
        heard: what was heard.
        layer, head: from 0.
        looker: the token that looks, from 0.
        marks: as Markdown; False: as plain text.
    """
    row = heard.row(looker)[layer, head]
    bold = "**" if marks else ""
    found = strongest(row, lambda frame: _called(heard, frame), bold)
    name = heard.lookers[looker]
    who = f"*{markdown.plain(name)}*" if marks else name
    said = f"In head {head_name(layer, head)}, {who} looks most at {found}."
    if heard.heard < len(row):
        silence = share(row[heard.heard :].sum())
        _, end = span_of(heard.frames[-1])
        said += (
            f" It gives {bold}{silence}{bold} to the silence with which Whisper fills up every sound to "
            f"{end:g} s, and which is not drawn."
        )
    return f"{said} If it looked at all {len(row):,} frames alike, each would get {percent(1 / len(row), 2)}."


def _called(heard: HeardSound, frame: int) -> str:
    token = heard.frames[frame]
    return f"{token.text} (silence behind the sound)" if token.special else token.text
