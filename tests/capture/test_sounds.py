"""Sounds of every kind are heard, or refused with a sentence, and every frame is that time of the sound."""

import io
import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

import attnviz
from attnviz.capture import loading, sounds
from attnviz.capture.sounds import HearingModel, Waveform
from attnviz.errors import EmptyText, ModelFilesDamaged, ModelNotSupported, TextTooLong, UnreadableSound
from attnviz.trace import Trace
from tests.capture.by_transformers import RATE, own_hearing, own_inputs, own_model, sound
from tests.capture.tiny import WORDS, FolderOf

LAST = 2 + len(WORDS)
"""The last row of the tiny Whisper's vocabulary."""


def data(samples: NDArray[np.integer[Any]], width: int = 2, rate: int = RATE) -> bytes:
    """A WAV file of whole numbers, [sample] or [sample, channel], of so many bytes each."""
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((samples[0].size if len(samples) else 1, width, rate, 0, "NONE", ""))
        raw = np.ascontiguousarray(samples, "<i4").view(np.uint8).reshape(-1, 4)[:, :width]
        written.writeframes(raw.tobytes())
    return file.getvalue()


def whole() -> NDArray[np.int16]:
    return (sound() * 2**15).astype(np.int16)


def test_a_file_its_bytes_and_its_samples_are_the_same(folder_of: FolderOf, tmp_path: Path) -> None:
    samples = whole()
    file = tmp_path / "noise.wav"
    file.write_bytes(data(samples))
    given: list[Any] = [file, str(file), file.read_bytes(), samples, samples / 2**15]
    traces = [
        attnviz.listen(each, folder_of("wav2vec2"), rate=RATE if isinstance(each, np.ndarray) else None)
        for each in given
    ]
    assert [trace.text for trace in traces] == ["noise.wav", "noise.wav", "sound", "sound", "sound"]
    for other in traces[1:]:
        assert np.array_equal(other.stack(), traces[0].stack())


@pytest.mark.parametrize(
    ("width", "numbers", "expected"),
    [
        (1, [0, 64, 128, 255], [-1, -0.5, 0, 127 / 128]),  # alone among the widths without a sign
        (2, [-(2**15), 2**14, 0, 1], [-1, 0.5, 0, 2**-15]),
        (3, [-(2**23), 2**22, 0, 1], [-1, 0.5, 0, 2**-23]),
        (4, [-(2**31), 2**30, 0, 2**8], [-1, 0.5, 0, 2**-23]),
    ],
)
def test_numbers_of_every_width_are_from_minus_1_to_1(
    width: int, numbers: list[int], expected: list[float]
) -> None:
    found = sounds.opened(data(np.array(numbers), width, 7))
    assert found.samples.tolist() == expected
    assert found.rate == 7


def test_channels_are_averaged() -> None:
    both = np.array([[2**14, 2**13], [0, -(2**14)]])
    assert sounds.opened(data(both)).samples.tolist() == [0.375, -0.25]
    assert sounds.opened(both / 2**15, RATE).samples.tolist() == [0.375, -0.25]


@pytest.mark.parametrize(("rate", "other"), [(8_000, 16_000), (44_100, 16_000), (16_000, 16_000)])
def test_another_rate_keeps_every_tone_that_it_can_hold(rate: int, other: int) -> None:
    def tones(rate: int, *frequencies: int) -> Waveform:
        times = np.arange(rate // 10) / rate
        return Waveform(np.sin(2 * np.pi * np.outer(times, frequencies)).sum(axis=1), rate)

    too_high = (12_000,) if rate > other else ()
    found = tones(rate, 440, 3_000, *too_high).resampled(other)
    assert found.rate == other
    np.testing.assert_allclose(found.samples, tones(other, 440, 3_000).samples, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "rate", "match"),
    [
        (b"", None, "no sound that can be read"),
        (b"ID3 an MP3", None, "no sound that can be read"),
        (data(np.arange(9))[:30], None, "no sound that can be read"),
        (data(np.arange(9))[:20] + b"\3" + data(np.arange(9))[21:], None, "whole numbers"),  # floating ones
        (data(np.arange(0)), None, "at least one"),
        (bytes(sounds.MOST_BYTES + 1), None, "larger than 20 MB"),
        (np.zeros(7), None, "Say it: rate=16000"),
        (data(np.arange(9)), 8_000, "Leave the rate out"),
        (np.zeros(7), 0, "whole number of samples each second"),
        (np.zeros(7), float("nan"), "whole number of samples each second"),
        (np.zeros(7, np.int64), RATE, "int16 or int32; here are int64"),
        (np.array([0.5, -30_000]), RATE, "the largest here is 3e[+]04. Divide"),
        (np.zeros((2, 3, 5)), RATE, r"of the shape \(2, 3, 5\)"),
        (np.zeros((2, 999)), RATE, r"999 channels of 2 samples each.*give sound\.T"),
        (np.array(["a"]), RATE, "here are <U1"),
        (np.array([0.5, np.nan]), RATE, "no finite numbers"),
    ],
    ids=[
        "nothing",
        "mp3",
        "cut off",
        "floats",
        "empty",
        "large",
        "no rate",
        "two rates",
        "rate 0",
        "rate nan",
        "int64",
        "loud",
        "axes",
        "channels first",
        "text",
        "nan",
    ],
)
def test_what_is_no_sound_is_refused(given: sounds.Sound, rate: int | None, match: str) -> None:
    with pytest.raises(UnreadableSound, match=match):
        sounds.opened(given, rate)


@pytest.mark.parametrize(
    ("family", "samples", "match"),
    [
        ("whisper", np.zeros(RATE + 1), "lasts 1.00 s, and .* hears up to 1.00 s"),
        ("wav2vec2", np.zeros(359), "too short"),
    ],
)
def test_a_sound_of_a_length_that_a_model_cannot_hear_is_refused(
    folder_of: FolderOf, family: str, samples: NDArray[Any], match: str
) -> None:
    with pytest.raises(UnreadableSound, match=match):
        attnviz.listen(samples, folder_of(family), rate=RATE)


def test_frames_of_wav2vec2_are_named_by_their_times(folder_of: FolderOf) -> None:
    trace = attnviz.listen(sound(), folder_of("wav2vec2"), rate=RATE)
    # (9,000 − 40) // 20 + 1 = 449 after the first convolution, (449 − 17) // 16 + 1 = 28 after the second.
    assert [token.text for token in trace.tokens[::9]] == [
        f"0.{at:02}–0.{at + 2:02} s" for at in (0, 18, 36, 54)
    ]
    assert len(trace.tokens) == 28
    assert not any(token.special for token in trace.tokens)


def test_a_frame_is_that_time_of_the_sound(folder_of: FolderOf) -> None:
    """In the first layer, only frames around the changed 20 ms have other keys."""
    changed = sound().copy()
    changed[6_400:6_720] *= 0.5  # 0.40 s to 0.42 s
    before, after = (
        attnviz.listen(each, folder_of("whisper"), target="the dog", rate=RATE).block("encoder")
        for each in (sound(), changed)
    )
    moved = np.flatnonzero(np.abs(before.key - after.key).max(axis=(0, 2)) > 1e-5)
    assert before.key_tokens[20].text == "0.40–0.42 s"
    # What a frame hears reaches 32.5 ms to both sides of its beginning: two mel frames and half a window.
    assert moved.tolist() == [19, 20, 21, 22]


def test_what_is_filled_up_is_special_and_looked_at(folder_of: FolderOf) -> None:
    trace = attnviz.listen(sound(), folder_of("whisper"), target="the dog", rate=RATE)
    cross = trace.block("cross")
    heard = [token for token in cross.key_tokens if not token.special]
    assert len(cross.key_tokens) == 50  # a second
    assert len(heard) == 29  # of 9,000 samples, at 320 a frame
    assert heard[-1].text == "0.56–0.58 s"
    assert cross.weights[:, :, 29:].sum(axis=-1).min() > 0.01
    np.testing.assert_allclose(cross.weights.sum(axis=-1), 1, atol=1e-6)


@pytest.fixture
def multilingual(copy_of: FolderOf) -> Path:
    """A Whisper that first tells the language, and may not begin with what it would write first."""
    folder = copy_of("whisper")
    file = folder / "generation_config.json"
    settings = json.loads(file.read_text())
    del settings["_from_model_config"]  # or the rest would count for nothing
    habits = {
        "is_multilingual": True,
        "lang_to_id": {"<|en|>": 7, "<|fr|>": 11},
        "task_to_id": {"transcribe": 5, "translate": 6},
        "no_timestamps_token_id": LAST,  # what comes after it are times
        "begin_suppress_tokens": [written(folder).of_kind("decoder")[0].query_tokens[1].id],
        "max_length": 31,
    }
    file.write_text(json.dumps({**settings, **habits}))
    return folder


def written(folder: Path) -> Trace:
    return attnviz.listen(sound(), folder, rate=RATE)


def test_whisper_writes_what_transformers_lets_it_write(multilingual: Path) -> None:
    trace, model = written(multilingual), own_model(multilingual)
    generate: Any = model.generate
    features = own_inputs(multilingual, model)["input_features"]
    with torch.inference_mode():
        own = generate(features, max_new_tokens=15, do_sample=False, num_beams=1)[0].tolist()
    read = trace.block("decoder").query_tokens
    assert [token.id for token in read[3:]] == [number for number in own if number != 0]
    assert trace.written == len(read) - 3
    start, language, how = (token.id for token in read[:3])
    assert (start, how) == (1, LAST)
    assert language in (7, 11)
    assert all(token.special for token in read[:3])
    assert trace.target == " ".join(token.text for token in read[3:])


def test_the_weights_of_what_it_wrote_are_those_of_eager(folder_of: FolderOf) -> None:
    trace, model = written(folder_of("whisper")), own_model(folder_of("whisper"))
    inputs = own_inputs(folder_of("whisper"), model)
    ids = [token.id for token in trace.block("decoder").query_tokens]
    with torch.inference_mode():
        output: Any = model(
            input_features=inputs["input_features"],
            decoder_input_ids=torch.tensor([ids]),
            output_attentions=True,
        )
    assert trace.written > 5
    for block, weights in zip(trace.of_kind("cross"), output.cross_attentions, strict=True):
        assert np.array_equal(block.weights, weights[0])


def test_without_the_encoder_the_rest_is_the_same(folder_of: FolderOf) -> None:
    folder = folder_of("whisper")
    whole, part = (
        attnviz.listen(sound(), folder, target="the dog", rate=RATE, encoder=each) for each in (True, False)
    )
    assert {block.kind for block in part.blocks} == {"decoder", "cross"}
    for kind in ("decoder", "cross"):
        assert np.array_equal(whole.stack(kind), part.stack(kind))


def test_an_encoder_with_too_many_weights_is_left_out_by_name_only(
    folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sounds, "MOST_WEIGHTS", 3 * 3 * 50**2 - 1)
    with pytest.raises(ModelNotSupported, match="encoder=False"):
        written(folder_of("whisper"))
    attnviz.listen(sound(), folder_of("whisper"), target="the dog", rate=RATE, encoder=False)


@pytest.mark.parametrize(
    ("family", "target", "error", "match"),
    [
        ("wav2vec2", "the dog", ModelNotSupported, "writes no words"),
        ("whisper", "the dog " * 20, TextTooLong, "31"),
        ("whisper", "", EmptyText, "nothing here"),
    ],
)
def test_words_that_cannot_be_read_are_refused(
    folder_of: FolderOf, family: str, target: str, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        attnviz.listen(sound(), folder_of(family), target=target, rate=RATE)


@pytest.mark.parametrize(
    ("family", "listens", "match"),
    [
        ("bert", True, "hears no sounds. Give it a text"),
        ("vit", True, "hears no sounds. Give it a picture"),
        ("whisper", False, "sees no pictures. Give it a sound"),
    ],
)
def test_a_model_is_given_what_it_takes(folder_of: FolderOf, family: str, listens: bool, match: str) -> None:
    with pytest.raises(ModelNotSupported, match=match):
        attnviz.listen(b"", folder_of(family)) if listens else attnviz.look(b"", folder_of(family))


def test_a_text_is_refused_wherever_it_is_given(folder_of: FolderOf) -> None:
    folder = str(folder_of("wav2vec2"))
    for give in (loading.tokens, lambda name, text: loading.load(name).outcomes(text, [()])):
        with pytest.raises(ModelNotSupported, match="hears sounds and reads no text"):
            give(folder, "The dog")
    with pytest.raises(ModelNotSupported, match=r"hears sounds.*attnviz\.listen"):
        attnviz.trace("The dog", own_model(folder_of("wav2vec2")))
    model = loading.load(folder)
    assert isinstance(model, HearingModel)
    assert model.words([3, 5]) == ("", "")


@pytest.mark.parametrize("family", ["whisper", "wav2vec2"])
def test_a_model_object_hears_with_its_processor(folder_of: FolderOf, family: str) -> None:
    folder = folder_of(family)
    network = own_model(folder)
    before = network.config.to_dict(), network.training
    by_folder = attnviz.listen(sound(), folder, rate=RATE)
    by_object = attnviz.listen(sound(), network, rate=RATE, processor=own_hearing(folder))
    assert by_object.target == by_folder.target
    for block, other in zip(by_object.blocks, by_folder.blocks, strict=True):
        assert block.key_tokens == other.key_tokens
        assert np.array_equal(block.weights, other.weights)
    assert (network.config.to_dict(), network.training) == before


def test_a_model_object_without_its_processor_is_refused(folder_of: FolderOf) -> None:
    network, extractor = own_model(folder_of("wav2vec2")), own_hearing(folder_of("whisper"))
    with pytest.raises(TypeError, match=r"needs its processor.*AutoProcessor"):
        attnviz.listen(sound(), network, rate=RATE)
    with pytest.raises(ModelFilesDamaged, match="belongs to another model"):
        attnviz.listen(sound(), network, rate=RATE, processor=extractor)
    with pytest.raises(ModelNotSupported, match="reads texts and hears no sounds"):
        attnviz.listen(sound(), own_model(folder_of("bert")), rate=RATE, processor=extractor)


def test_a_vector_of_training_may_be_missing(folder_of: FolderOf, copy_of: FolderOf) -> None:
    folder = copy_of("wav2vec2")
    weights = load_file(folder / "model.safetensors")
    del weights["wav2vec2.masked_spec_embed"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    old, new = (attnviz.listen(sound(), each, rate=RATE) for each in (folder, folder_of("wav2vec2")))
    assert np.array_equal(old.stack(), new.stack())


@pytest.mark.parametrize(
    ("content", "match"), [("{", "cannot be read"), ('{"chunk_length": 0.7}', "it makes other frames")]
)
def test_a_damaged_extractor_is_refused(copy_of: FolderOf, content: str, match: str) -> None:
    folder = copy_of("whisper")
    (folder / "preprocessor_config.json").write_text(content)
    with pytest.raises(ModelFilesDamaged, match=match):
        attnviz.listen(sound(), folder, rate=RATE)
