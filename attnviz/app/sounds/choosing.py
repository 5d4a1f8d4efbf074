"""What the page on sounds is about: a model, a sound, a head, and the word or the frame that looks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.app import caches, controls, own_file
from attnviz.app.own_file import OWN, FileSelection
from attnviz.app.sounds import hearing
from attnviz.app.sounds.samples import SAMPLES, sample
from attnviz.app.state import link
from attnviz.app.state.choices import LOOKER, SOUND
from attnviz.errors import AttnvizError
from attnviz.models.families import HEARS
from attnviz.text import joined
from attnviz.trace import Floats, Token, Trace

_MOST_MEGABYTES = 20


@dataclass(frozen=True)
class SoundForward:
    """A model and a sound for it, the sound as a file, and the forward pass."""

    chosen: FileSelection
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


def choose() -> FileSelection:
    """Draw the choice of model and sound; stop kindly where no model can hear."""
    names = hearing.names()
    if not names:
        families = joined([f"`{family}`" for family in sorted(HEARS)])
        own_file.no_model(
            "hears sounds",
            f"Open one of the families {families} on the page on models: a folder of this machine, or an id "
            "on Hugging Face such as `openai/whisper-tiny`.",
        )
    sounds, beside = st.columns([8, 4], gap="medium")
    with sounds:
        sound = SOUND.segments("Sound", [*SAMPLES, OWN])
    with beside:
        entries = [entry for entry in caches.usable() if entry.name in names]
        name = controls.model(entries, offer_own=False)
    entry = next(entry for entry in entries if entry.name == name)
    file, called = (sample(sound), "") if sound in SAMPLES else (None, "")
    if sound == OWN:
        with sounds:
            file, called = own_file.upload("sound", "WAV", ["wav"], _MOST_MEGABYTES)
    return FileSelection(entry, sound, file, called)


def choose_head(chosen: FileSelection) -> tuple[int, int]:
    """Draw the choice of layer and head; return both, from 0."""
    return controls.head(chosen.entry.decoder_layers or chosen.entry.layers, chosen.entry.heads, (1, 1))


def choose_looker(heard: SoundForward) -> int:
    """Draw the choice of the token that looks, first the one in the middle; return its number, from 0."""
    names = heard.lookers
    label = "Frame that looks" if heard.trace.target is None else "Word that looks"
    return names.index(LOOKER.select(label, names, names[len(names) // 2], width=320))


def hear(chosen: FileSelection) -> SoundForward | None:
    """Let the model listen; without a sound that it can hear, say what helps, and return None."""
    if chosen.file is None:
        link.postpone()  # the token that looks, until there are tokens
        own_file.missing(SOUND, "sound", "the head and the word")
        return None
    try:
        trace = hearing.trace(chosen.entry.name, chosen.example, chosen.file)
    except AttnvizError as error:
        chosen.tell(error, ":material/volume_off:")
        return None
    return SoundForward(chosen, chosen.file, trace)
