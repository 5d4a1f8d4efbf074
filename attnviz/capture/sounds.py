"""A model that hears sounds as a source of traces: every short span of time is a token.

Whisper (Radford et al. 2023) hears with an encoder and writes with a decoder, whose cross-attention goes from
words to times. wav2vec 2.0 (Baevski et al. 2020) and HuBERT (Hsu et al. 2021) have an encoder alone.
"""

from __future__ import annotations

import io
import math
import wave
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel, Wav2Vec2FeatureExtractor, WhisperFeatureExtractor

from attnviz.capture.forward import blocks
from attnviz.capture.generation import habits_of
from attnviz.capture.inspection import exactly, inspected, run
from attnviz.capture.model import ModelInput, TextlessModel
from attnviz.capture.network import in_silence
from attnviz.errors import ModelFilesDamaged, ModelNotSupported, TextTooLong, UnreadableSound, quoted
from attnviz.models.catalogue import Entry
from attnviz.models.config import MOST_WEIGHTS
from attnviz.models.tokenizer import TextTokenizer, frame_tokens
from attnviz.text import plural
from attnviz.trace import Floats, Token, Trace

MOST_BYTES = 20_000_000
"""How large a file may be: two minutes of music on a CD."""

_SAMPLE = 11  # frames that a model is checked with
_BITS = 32  # of the widest number in a file

Sound = Path | bytes | NDArray[Any]


_CHANNELS = 32  # more than a recording has
_LOUDEST = 2.0  # of floating samples: resampling may take a sound a little beyond 1


class Waveform(NamedTuple):
    """A sound of one channel.

    Attributes:
        samples: [sample], from −1 to 1.
        rate: how many there are each second.
    """

    samples: Floats
    rate: int

    def resampled(self, rate: int) -> Waveform:
        """The same with so many samples a second.

        Its Fourier transform is cut off, or filled up with zeros: frequencies up to half the lower one of the
        two rates stay as they are, and there are no others. As in every discrete Fourier transform, the sound
        counts as one that repeats.
        """
        if rate == self.rate:
            return self
        count = max(1, round(len(self.samples) * rate / self.rate))
        found = np.fft.irfft(np.fft.rfft(self.samples)[: count // 2 + 1], count)
        return Waveform((found * (count / len(self.samples))).astype(np.float32), rate)


class HearingModel(TextlessModel):
    """A loaded model that hears sounds; safe to share among threads.

    Args:
        network: as `open_network` returns it; nobody else uses it.
        extractor: transformers' own, which prepares its sounds.
        tokenizer: of the words that Whisper writes; None: it writes none.

    Raises:
        ModelNotSupported: its attention cannot be shown exactly.
        ModelFilesDamaged: the extractor belongs to another model.
    """

    instead = "hears sounds and reads no text. Give it a sound."

    def __init__(
        self, entry: Entry, network: PreTrainedModel, extractor: Any, tokenizer: TextTokenizer | None
    ) -> None:
        self.name, self.dtype, self.device = entry.name, entry.dtype, str(network.device)
        self.entry = entry
        self.network = network
        self._extractor = extractor
        self._tokenizer = tokenizer
        self._check_extractor()
        self.rate = int(self._extractor.sampling_rate)
        """How many samples of a sound it takes each second."""
        config = self.network.config
        if tokenizer is not None:
            self._most_read = int(config.max_target_positions)
            self._hop = int(self._extractor.n_samples) // entry.token_limit
            with _hearing_less(self.network, _SAMPLE):
                self._layers = inspected(self.network, self._sample(), entry)
        else:
            self._hop = math.prod(config.conv_stride)
            self._layers = inspected(self.network, self._sample(), entry)

    @property
    def frame(self) -> float:
        """How many seconds lie between the beginnings of two frames.

        The convolutions before the encoder overlap: a frame of Whisper hears as far before the beginning of
        its span as behind it, one of wav2vec 2.0 hears from there to a little beyond its end.
        """
        return self._hop / self.rate

    def tokens(self, text: str | ModelInput) -> NoReturn:
        """Always an error, as `trace`: how many there are depends on the sound."""
        self.trace(text)

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """What the decoder's tokens of these numbers are; without a decoder no word."""
        return tuple("" if self._tokenizer is None else self._tokenizer.readable(number) for number in ids)

    def listen(
        self,
        sound: Sound,
        name: str,
        target: str | None = None,
        *,
        rate: int | None = None,
        encoder: bool = True,
    ) -> Trace:
        """One forward pass over a sound, and over the words that Whisper writes.

        Whisper hears sounds of one length only: what is missing is filled up with silence. Those frames are
        tokens too, since words look there, but `special` ones.

        Args:
            sound: a WAV file, or what is in such a file; or samples, [sample] or [sample, channel], floating
                ones from −1 to 1. Channels are averaged, and the rate is made the model's by
                `Waveform.resampled`.
            target: what the decoder reads, as it is typed; None: what it writes, always the likeliest token
                that its makers allow, until it ends its text or has written half as many as it can read.
            rate: of samples, how many there are each second.
            encoder: whether the trace has the attention of Whisper's encoder, beside the decoder's and the
                cross-attention.

        Raises:
            UnreadableSound: it is no sound, too short, or longer than the model hears.
            TextTooLong, EmptyText, UnreadableText: the target cannot be read.
            ModelNotSupported: it has no decoder, or the encoder's weights would be more than `MOST_WEIGHTS`.
        """
        if self._tokenizer is None and target is not None:
            raise ModelNotSupported(f"{quoted(self.name)} hears and writes no words. Leave the target out.")
        weights = self.entry.layers * self.entry.heads * self.entry.token_limit**2
        if self._tokenizer is not None and encoder and weights > MOST_WEIGHTS:
            raise ModelNotSupported(
                f"The weights of the encoder of {quoted(self.name)} would take {weights * 4 / 1e9:.1f} GB. "
                "Leave the encoder out, and see where words look: attnviz.listen(…, encoder=False)."
            )
        heard = self._heard(opened(sound, rate))
        inputs, frames = self._features(heard), self._frames(len(heard))
        if self._tokenizer is None:
            found = blocks(self.network, self._layers, inputs, frames)
            return Trace(model=self.name, text=name, blocks=found)
        with torch.inference_mode():
            encoded = run(self.network.get_encoder(), inputs)
        text, tokens, written = self._words(self._tokenizer, encoded, target)
        layers = [layer for layer in self._layers if encoder or layer.kind != "encoder"]
        given: dict[str, Any] = {
            **(inputs if encoder else {"encoder_outputs": encoded}),
            "decoder_input_ids": torch.tensor([[token.id for token in tokens]], device=self.network.device),
        }
        return Trace(
            model=self.name,
            text=name,
            target=text,
            written=written,
            blocks=blocks(self.network, layers, given, frames, tokens),
        )

    def _words(
        self, tokenizer: TextTokenizer, encoded: Any, target: str | None
    ) -> tuple[str, tuple[Token, ...], int]:
        """What the decoder reads: the text, all tokens, and how many of them the model wrote."""
        # It begins with a sign, the language that it hears, and what to do with it.
        started = tuple(map(tokenizer.special, self._generated(encoded, 1)[:-1]))
        if target is None:
            ids = self._generated(encoded, self._most_read // 2)[len(started) :]
            if ids[-1] in habits_of(self.network).ends:
                ids.pop()
            text, tokens = tokenizer.written("", started, ids)
            return text, tokens, len(ids)
        typed = (token for token in tokenizer.tokens(target) if not token.special)
        tokens = (*started, *typed)
        if len(tokens) > self._most_read:
            raise TextTooLong(len(tokens), self._most_read, together=False)
        return target, tokens, 0

    def _generated(self, encoded: Any, tokens: int) -> list[int]:
        """What transformers lets it write, the tokens before the first one included."""
        network: Any = self.network
        # In silence: transformers warns of two limits, of which it takes the one that is meant.
        with torch.inference_mode(), exactly(network.device), in_silence():
            found = network.generate(
                encoder_outputs=encoded,
                max_new_tokens=tokens,
                do_sample=False,
                num_beams=1,
                return_timestamps=False,
                return_dict_in_generate=True,
            )
        return [int(number) for number in found.sequences[0]]

    def _heard(self, sound: Waveform) -> Floats:
        """Its samples at the rate that the model takes."""
        longest = self.entry.token_limit * self.frame
        seconds = len(sound.samples) / sound.rate
        if seconds > longest:
            raise UnreadableSound(
                f"This sound lasts {seconds:,.2f} s, and {quoted(self.name)} hears up to {longest:,.2f} s. "
                "Cut it."
            )
        return sound.resampled(self.rate).samples

    def _frames(self, samples: int) -> tuple[Token, ...]:
        """The tokens of a sound of so many samples."""
        if self._tokenizer is not None:
            return frame_tokens(self.entry.token_limit, self.frame, -(-samples // self._hop))
        config = self.network.config
        for kernel, stride in zip(config.conv_kernel, config.conv_stride, strict=True):
            samples = (samples - kernel) // stride + 1
        if samples < 1:
            raise UnreadableSound("This sound is too short to be heard. Take one of a second, say.")
        return frame_tokens(samples, self.frame, samples)

    def _check_extractor(self) -> None:
        samples = getattr(self._extractor, "n_samples", None)
        kind = Wav2Vec2FeatureExtractor if self._tokenizer is None else WhisperFeatureExtractor
        fits = self._tokenizer is None or (isinstance(samples, int) and samples % self.entry.token_limit == 0)
        if not (isinstance(self._extractor, kind) and fits):
            raise ModelFilesDamaged(
                f"What prepares the sounds of {quoted(self.name)} belongs to another model: it makes other "
                "frames. Save or download the model's own (preprocessor_config.json) again."
            )

    def _features(self, samples: Floats) -> dict[str, Tensor]:
        """What the model is called with: log-mel frames (Whisper), or the samples themselves."""
        found = self._extractor(samples, sampling_rate=self.rate, return_tensors="pt")
        name = self._extractor.model_input_names[0]
        return {name: found[name].to(self.network.device, self.network.dtype)}

    def _sample(self) -> Mapping[str, Tensor]:
        """Some frames of noise, and tokens for a decoder."""
        noise = np.random.default_rng(_SAMPLE).normal(0, 0.1, self._hop * (_SAMPLE + 2)).astype(np.float32)
        inputs = self._features(noise)
        if self._tokenizer is not None:
            (mel,) = inputs.values()
            each = mel.shape[-1] // self.entry.token_limit
            last = self.network.config.vocab_size - 1
            rows = torch.linspace(last // 2, last, _SAMPLE, device=self.network.device).long()
            inputs = {"input_features": mel[..., : each * _SAMPLE], "decoder_input_ids": rows[None]}
        return inputs


def opened(sound: Sound, rate: int | None = None) -> Waveform:
    """The sound, unpacked; see `HearingModel.listen`."""
    if isinstance(sound, np.ndarray):
        if rate is None:
            raise UnreadableSound("An array does not tell how many samples a second has. Say it: rate=16000.")
        if not (sound.dtype.kind == "f" or sound.dtype in (np.int16, np.int32)):
            raise UnreadableSound(f"Samples are floating numbers, int16 or int32; here are {sound.dtype}.")
        return _one_channel(sound, rate)
    if rate is not None:
        raise UnreadableSound("A WAV file says itself how many samples a second has. Leave the rate out.")
    size = len(sound) if isinstance(sound, bytes) else sound.stat().st_size
    if size > MOST_BYTES:
        raise UnreadableSound(f"This file is larger than {MOST_BYTES / 1e6:,.0f} MB. Take a shorter sound.")
    data = sound if isinstance(sound, bytes) else sound.read_bytes()
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, found = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = np.frombuffer(file.readframes(file.getnframes()), np.uint8)
    except (wave.Error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise _no_sound() from error
    if width * 8 > _BITS:
        raise _no_sound()
    number: NDArray[Any] = raw[: len(raw) // (channels * width) * channels * width].reshape(
        -1, channels, width
    )
    if width == 1:
        number = number ^ 128  # alone among the widths, one byte has no sign
    wide = np.zeros((*number.shape[:2], _BITS // 8), np.uint8)
    wide[..., -width:] = number
    return _one_channel(wide.view("<i4")[..., 0], found)


def _one_channel(samples: NDArray[Any], rate: int) -> Waveform:
    """[sample] or [sample, channel] as one channel from −1 to 1."""
    if samples.dtype.kind not in "iuf" or samples.ndim not in {1, 2} or not samples.size:
        raise UnreadableSound(
            "A sound needs numbers, [sample] or [sample, channel], and at least one; here are "
            f"{samples.dtype} of the shape {samples.shape}."
        )
    if samples.ndim == 2 and samples.shape[1] > max(samples.shape[0], _CHANNELS):
        raise UnreadableSound(
            f"These would be {samples.shape[1]:,} channels of {plural(samples.shape[0], 'sample')} each. "
            "A sound is [sample, channel]: give sound.T."
        )
    if not isinstance(rate, int | np.integer) or rate < 1:
        raise UnreadableSound(
            f"A sound needs a whole number of samples each second, 1 or more, not {rate!r:.30}."
        )
    whole = samples.dtype.kind != "f"
    scaled = samples / (np.iinfo(samples.dtype).max + 1.0) if whole else samples
    if not np.isfinite(scaled).all():
        raise UnreadableSound("Among the samples there are some that are no finite numbers.")
    if not whole and np.abs(scaled).max() > _LOUDEST:
        raise UnreadableSound(
            f"Floating samples go from −1 to 1; the largest here is {np.abs(scaled).max():,.4g}. Divide them."
        )
    return Waveform(scaled.reshape(len(samples), -1).mean(axis=1).astype(np.float32), int(rate))


def _no_sound() -> UnreadableSound:
    return UnreadableSound(
        "This is no sound that can be read. Take a WAV file with whole numbers (PCM); other files can be "
        "converted: ffmpeg -i sound.mp3 -c:a pcm_s16le sound.wav."
    )


@contextmanager
def _hearing_less(network: PreTrainedModel, frames: int) -> Iterator[None]:
    """While the block lasts, Whisper's encoder takes the first few frames alone.

    It takes no fewer than it has places for, and the weights of all layers over 1,500 frames would need
    gigabytes. Only for a model that nobody else uses yet.
    """
    encoder: Any = network.get_encoder()
    places, most = encoder.embed_positions, encoder.config.max_source_positions
    encoder.embed_positions = nn.Embedding(frames, places.embedding_dim, _weight=places.weight[:frames])
    encoder.config.max_source_positions = frames
    try:
        yield
    finally:
        encoder.embed_positions, encoder.config.max_source_positions = places, most


def extractor_in(folder: Path, entry: Entry) -> object:
    """How the sounds of the model in a folder are prepared: transformers' own way.

    Raises:
        ModelFilesDamaged: no file says it, or its values make no sense.
    """
    kind: Any = WhisperFeatureExtractor if entry.decoder_layers else Wav2Vec2FeatureExtractor
    try:
        return kind.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelFilesDamaged(
            f"preprocessor_config.json of {quoted(entry.name)} cannot be read. Save or download it again."
        ) from error
