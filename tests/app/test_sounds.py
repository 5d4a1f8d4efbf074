"""The page on models that hear: its numbers are the model's, and what is no sound is told."""

from collections.abc import Callable
from urllib.parse import urlencode

import numpy as np
import pytest
from numpy.testing import assert_allclose
from streamlit.testing.v1 import AppTest

from attnviz.app.senses import hearing
from attnviz.app.senses.sound_samples import SAMPLES, sample
from attnviz.capture import loading
from attnviz.models import allowed
from attnviz.trace import Trace
from tests.app.shown import charts, clean, page_links, sent, visit, warnings, words
from tests.capture.tiny import HEARING


def weights_drawn(app: AppTest) -> list[float]:
    """What the chart of the weights draws, in percent."""
    [chart] = [chart for title, chart in charts(app).items() if title.startswith("Head")]
    return list(chart["lines"][0]["y"])


def test_without_a_model_that_hears_the_page_says_how_to_open_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "_opened", {})
    said = words(visit("sounds"))
    assert "No model on this server hears sounds" in said
    assert all(f"`{family}`" in said for family in HEARING)


def test_every_sample_is_shown_with_the_models_own_numbers(opened: Callable[[str], str]) -> None:
    folder = opened("wav2vec2")
    app = visit("sounds", layer="2", head="3", looker="0.20–0.22 s")
    for name in SAMPLES:
        app.session_state["sound"] = name
        clean(app.run())
        row = loading.listen(folder, sample(name), name).block("encoder", 1).weights[2, 10]
        assert_allclose(weights_drawn(app), 100 * row, rtol=1e-5)
        strongest = int(row.argmax())
        time = f"0.{2 * strongest:02}–0.{2 * strongest + 2:02} s"
        assert f"{time} **{100 * row[strongest]:.1f} %**" in words(app)
        assert sent(app, "head_map")["selected"] == [2, 3]


def test_words_look_at_the_sound_and_at_the_silence_behind_it(opened: Callable[[str], str]) -> None:
    folder = opened("whisper")
    app = visit("sounds", looker="2 " + hearing.layers(wrote(folder))[0].query_tokens[1].text)
    row = hearing.layers(wrote(folder))[0].weights[0, 1]
    assert_allclose(weights_drawn(app), 100 * row[:45], rtol=1e-5)  # 0.9 s of 20 ms each
    assert f"It gives **{100 * row[45:].sum():.1f} %** to the silence" in words(app)
    assert "to 1 s, and which is not drawn" in words(app)
    assert f"It wrote: *{wrote(folder).target}*" in words(app)
    assert [button.proto.label for button in app.get("download_button")] == ["All heads (NPZ)"]
    message = sent(app, "copy_link")
    assert message["always"] == ["model"]
    assert urlencode({"model": folder}) in message["query"]


def wrote(folder: str) -> Trace:
    return loading.listen(folder, sample("two tones"), "two tones", encoder=False)


def test_what_a_link_cannot_choose_is_told(opened: Callable[[str], str]) -> None:
    opened("whisper")
    app = visit("sounds", sound="<b>", layer="99", looker="99 no")
    assert all(name in warnings(app) for name in ("sound", "layer", "looker"))
    app = visit("sounds", sound="your own", layer="2", head="3", looker="1 <|startoftranscript|>")
    assert "The sound is not in the link" in app.info[0].value
    assert [box.value for box in app.number_input] == [2, 3]
    assert not warnings(app)


def test_a_model_that_hears_is_no_choice_for_texts(opened: Callable[[str], str]) -> None:
    folder = opened("whisper")
    app = visit("sounds", model=folder)
    assert app.selectbox(key="model").options == [folder]
    clean(app.switch_page("pages/explore.py").run())
    assert folder not in app.selectbox(key="model").options
    assert page_links(visit("explore", model=folder))["sounds"] == {"model": folder}


def test_the_waveform_has_the_largest_and_smallest_samples(opened: Callable[[str], str]) -> None:
    opened("wav2vec2")
    visit("sounds")
    wave = hearing.envelope(sample("two tones"))
    assert float(wave.high.max()) == pytest.approx(0.6, abs=1e-3)
    assert float(wave.low.min()) == pytest.approx(-0.6, abs=1e-3)
    between = (wave.times > 0.36) & (wave.times < 0.54)
    assert not np.any(wave.high[between])
    assert np.all(wave.high[~between & (wave.times < 0.34)] > 0)


def test_a_file_of_no_bytes_is_refused_by_its_name(opened: Callable[[str], str]) -> None:
    opened("wav2vec2")
    app = visit("sounds", sound="your own")
    app.file_uploader[0].upload("empty.wav", b"", "audio/wav").run()
    assert not app.exception
    assert app.error[0].value.startswith("**empty.wav:** This is no sound that can be read")
