"""Training: repeatable to the bit, broken off and taken up again, and it teaches what it says."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import training
from attnviz.trained.translator.training import Progress, Settings, learning_rate, train
from attnviz.trained.translator.translator import Sizes
from attnviz.trained.translator.variants import VARIANTS

TINY = Settings(
    steps=12,
    sentences=200,
    batch=16,
    dropout=0.1,
    warm_up=4,
    sizes=Sizes(d_model=12, n_heads=3, d_feed_forward=7),
)


def numbers(progress: Progress) -> Tensor:
    """All parameters, one after the other."""
    return torch.cat([parameter.detach().flatten() for parameter in progress.model.parameters()]).clone()


def last(progress: Iterator[Progress]) -> Progress:
    """Where a training ends."""
    *_, end = progress
    return end


@pytest.fixture(scope="module")
def trained() -> Tensor:
    return numbers(last(train(TINY)))


def test_the_same_settings_give_the_same_weights_whatever_else_is_drawn(trained: Tensor) -> None:
    told = []
    for progress in train(TINY):
        torch.rand(progress.step)
        progress.model.eval()  # whoever looks at the model may leave it so
        told.append((progress.step, progress.seconds))
    assert torch.equal(numbers(progress), trained)
    assert [step for step, _ in told] == list(range(1, 13))
    assert progress.seconds > told[0][1] > 0
    assert progress.processor_seconds > 0


def test_training_draws_no_one_elses_random_numbers() -> None:
    torch.manual_seed(7)
    wanted = torch.rand(5)
    torch.manual_seed(7)
    last(train(replace(TINY, steps=5)))
    assert torch.equal(torch.rand(5), wanted)


@pytest.mark.parametrize("change", [{"seed": 1}, {"variant": "untold"}, {"dropout": 0.2}, {"steps": 11}])
def test_other_settings_give_other_weights(trained: Tensor, change: dict[str, object]) -> None:
    other = numbers(last(train(replace(TINY, **change))))  # type: ignore[arg-type]  # fields of any type
    assert not torch.equal(other, trained)


@pytest.mark.parametrize("stop", [1, 7])
def test_a_training_broken_off_goes_on_as_if_it_had_not_been(
    trained: Tensor, stop: int, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    first = train(TINY, checkpoint)
    progress = next(one for one in first if one.step == stop)
    seconds = progress.seconds
    first.close()
    assert [*tmp_path.iterdir()] == [checkpoint]
    rest = list(train(TINY, checkpoint))
    assert [progress.step for progress in rest] == list(range(stop + 1, 13))
    assert torch.equal(numbers(rest[-1]), trained)
    assert rest[0].seconds > seconds


def test_a_checkpoint_is_written_now_and_then(
    trained: Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 5)
    checkpoint = tmp_path / "checkpoint"
    running = train(TINY, checkpoint)
    for _ in range(7):
        next(running)
    # The machine goes dark here: nobody closes the training. Step 6 and 7 are made again.
    rest = list(train(TINY, checkpoint))
    assert [progress.step for progress in rest] == list(range(6, 13))
    assert torch.equal(numbers(rest[-1]), trained)


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    running = train(TINY, checkpoint)
    next(running)
    running.close()
    with pytest.raises(ModelFilesDamaged, match="other settings"):
        next(train(replace(TINY, seed=1), checkpoint))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x02\x00\x00\x00\x00\x00\x00\x00{}"])
def test_what_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(content)
    with pytest.raises(ModelFilesDamaged, match="no checkpoint"):
        next(train(TINY, checkpoint))


def test_the_learning_rate_grows_and_then_falls() -> None:
    settings = replace(TINY, steps=10, warm_up=4, learning_rate=8.0)
    rates = [learning_rate(settings, step) for step in range(1, 11)]
    assert rates == pytest.approx([2, 4, 6, 8, 48 / 7, 40 / 7, 32 / 7, 24 / 7, 16 / 7, 8 / 7])


def test_training_wheels_come_off(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def no_terms(steps: object, exercises: object, variant: object) -> Tensor:  # noqa: ARG001
        asked.append(variant)
        return torch.zeros(())

    monkeypatch.setattr(training, "attention_loss", no_terms)
    last(train(replace(TINY, steps=20, variant="training-wheels")))
    assert len(asked) == VARIANTS["training-wheels"].taught_until * 20
    asked.clear()
    last(train(TINY))
    assert len(asked) == TINY.steps


def test_a_few_dozen_steps_teach_something() -> None:
    settings = replace(TINY, steps=60, sentences=500, learning_rate=1e-2)
    losses = [progress.loss for progress in train(settings)]
    # Words that are often right come first; it would be ln 274 = 5.6 nats if all were equally probable.
    assert sum(losses[-10:]) / 10 < 5 < sum(losses[:10]) / 10


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variants_settings(variant: str) -> None:
    assert Settings.of(variant).seed == VARIANTS[variant].seed
    settings = Settings.of(variant, seed=4)
    assert (settings.variant, settings.seed) == (variant, 4)
    assert settings.sizes.n_heads == VARIANTS[variant].n_heads
    live = Settings.live(variant, seed=4)
    assert live.steps < settings.steps
    assert live.sizes == settings.sizes


def test_a_translator_is_a_copy_that_says_how_it_was_made(tmp_path: Path) -> None:
    running = train(TINY)
    translator = next(running).translator()
    before = {name: value.clone() for name, value in translator.model.state_dict().items()}
    next(running)
    assert all(torch.equal(value, before[name]) for name, value in translator.model.state_dict().items())
    assert translator.about["steps"] == "1"
    assert translator.about["command"] == "python -m attnviz train --variant taught --seed 0"
    translator.save(tmp_path / "weights.safetensors")
