"""Verdicts on heads: a model built so that they are known, numbers worked by hand, and the file."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoConfig, BertForMaskedLM

from attnviz.__main__ import main
from attnviz.analysis.rules import Layout, Rule, Special
from attnviz.analysis.tally import NAMES, RULES, Tally, labels
from attnviz.errors import AttnvizError
from attnviz.experiments import behaviour, verdicts_file
from attnviz.experiments.progress import Progress
from attnviz.experiments.verdicts import (
    COLUMNS,
    LEAST,
    Effects,
    HeadVerdicts,
    Part,
    Removal,
    Removed,
    Verdict,
    draw,
    halves,
    measure,
)
from attnviz.models import resolve
from attnviz.trace import Mask
from tests.capture.tiny import WORDS, tiny

PREVIOUS, ITSELF, FIRST, SEPARATOR, SAME_WORD = (
    RULES[NAMES.index(name)] for name in ("previous", "itself", "first", "separator", "same word")
)
SPECIAL = Special("[CLS]", ("[SEP]",))

POSITIONS = 16
"""The most tokens that the built model reads."""


@pytest.fixture(scope="module")
def copies_the_previous(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One layer of three heads: 1 copies the token before, 2 looks there and W_O drops it, 3 looks evenly."""
    folder = tiny("bert", tmp_path_factory.mktemp("built") / "bert")
    config = AutoConfig.from_pretrained(folder)
    config.num_hidden_layers = 1
    network: Any = BertForMaskedLM(config)
    angles = torch.arange(config.max_position_embeddings) * 2 * math.pi / POSITIONS
    draws = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        # Places on a circle in four numbers, words in the others; all of one mean and length, so that layer
        # norm treats all alike.
        embeddings = network.bert.embeddings
        circle = torch.stack([angles.cos(), -angles.cos(), angles.sin(), -angles.sin()], dim=1)
        embeddings.position_embeddings.weight[:, :4] = circle
        words = torch.randn(config.vocab_size, 11, generator=draws)
        words -= words.mean(dim=1, keepdim=True)
        embeddings.word_embeddings.weight[:, 4:] = words / words.norm(dim=1, keepdim=True)
        [layer] = network.bert.encoder.layer
        turn = torch.tensor(2 * math.pi / POSITIONS)
        back = torch.tensor([[turn.cos(), turn.sin()], [-turn.sin(), turn.cos()]])
        for head in (0, 1):
            rows = slice(5 * head, 5 * head + 2)
            layer.attention.self.query.weight[rows, :4:2] = 30 * back
            layer.attention.self.key.weight[rows, :4:2] = 30 * torch.eye(2)
        layer.attention.self.value.weight[:, 4:] = torch.randn(15, 11, generator=draws)
        layer.attention.output.dense.weight[4:, :5] = torch.randn(11, 5, generator=draws)
    network.save_pretrained(folder)
    return str(folder)


def sentences(count: int) -> list[str]:
    """Of 3 to 9 words, each once."""
    draws = np.random.default_rng(5)
    words = sorted({word.lower() for word in WORDS if word.isalpha()})
    return [" ".join(draws.choice(words, draws.integers(3, 10), replace=False)) for _ in range(count)]


READ = sentences(2 * LEAST + 8)


@pytest.fixture(scope="module")
def steps_of_all(copies_the_previous: str) -> list[Progress[HeadVerdicts]]:
    """What is found as more and more of these sentences are read."""
    return list(measure(copies_the_previous, READ))


def test_a_head_that_copies_is_needed_and_sufficient_and_one_that_only_looks_is_a_picture(
    steps_of_all: list[Progress[HeadVerdicts]],
) -> None:
    *steps, last = steps_of_all
    assert not any(step.found.heads for step in steps)
    assert last.finished
    found = last.found
    assert found.special == SPECIAL
    copying, looking, even = found.heads
    for head in (copying, looking):
        assert head.label is PREVIOUS
        assert head.score == pytest.approx(1, abs=1e-3)
        assert (head.read, head.sentences) == (LEAST + 4, LEAST + 4)
        assert head.effect == copying.effect > 0.01
    assert (copying.stamp, looking.stamp, even.stamp) == ("needed and sufficient", "picture only", "")
    for way in (copying.silenced, copying.averaged):
        assert way is not None
        assert way.kept is not None
        assert [way.lost.value, way.lost.low, way.kept.low] == pytest.approx([1] * 3, abs=1e-4)
        assert way.others == pytest.approx(0, abs=1e-4)
    for way in (looking.silenced, looking.averaged):
        assert way is not None
        assert way.kept is not None
        assert [way.lost.value, way.lost.high, way.kept.value] == pytest.approx([0] * 3, abs=1e-4)
        assert way.others == pytest.approx(0.5, abs=1e-4)  # one of the two others is the one that copies
    assert even.label is None
    assert "No label: over our sentences" in found.told(0, 2)


def test_the_command_prints_every_head_and_writes_what_was_found(
    copies_the_previous: str,
    steps_of_all: list[Progress[HeadVerdicts]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(behaviour, "bundled", lambda: "\n".join(READ))
    found_in = {(copies_the_previous, tuple(READ)): steps_of_all}
    monkeypatch.setattr(
        "attnviz.experiments.verdicts.measure", lambda model, lines: found_in[model, tuple(lines)]
    )
    out = tmp_path / "verdicts.json"
    assert main(["verdicts", "--model", copies_the_previous, "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": 3 heads, 1 needed, 1 sufficient, 0 undecided, 1 picture only.")
    rows = [line.split() for line in lines[3:6]]
    assert [row[:2] for row in rows] == [["1-1", "previous"], ["1-2", "previous"], ["1-3", "none"]]
    assert rows[0][-3:] == ["needed", "and", "sufficient"]
    assert rows[0][5:10] == ["100.0", "100.0", "to", "100.0", "0.0"]
    files, found = verdicts_file.read(out)
    assert files == resolve.entry(copies_the_previous).files_digest
    assert [each.stamp for each in found.heads] == ["needed and sufficient", "picture only", ""]
    table = tmp_path / "verdicts.csv"
    assert main(["verdicts", "--model", copies_the_previous, "--out", str(table)]) == 0
    assert main(["verdicts", "--model", copies_the_previous, "--out", str(table)]) == 0  # over its own kind
    copying, _, even = csv.DictReader(table.read_text("utf-8").splitlines())
    assert [copying[name] for name in COLUMNS[:4]] == ["1", "1", "previous", "needed and sufficient"]
    assert float(copying["silent: lost from"]) == pytest.approx(1, abs=1e-3)
    assert float(copying["mean: lost without others"]) == pytest.approx(0, abs=1e-3)
    assert set(list(even.values())[2:]) == {"", "0"}  # in no sentence
    other = tmp_path / "other.json"
    other.write_text("{}", "utf-8")
    assert main(["verdicts", "--out", str(other)]) == 2
    assert "does not hold verdicts on heads, or it is damaged" in capsys.readouterr().err


def test_too_few_sentences_are_no_evidence(copies_the_previous: str) -> None:
    *_, last = measure(copies_the_previous, sentences(2 * LEAST - 2))
    copying = last.found.of(0, 0)
    assert (copying.label, copying.sentences, copying.stamp) == (PREVIOUS, LEAST - 1, "")
    assert "what that does to the output was not measured." in last.found.told(0, 0)
    assert f"Only {LEAST - 1} sentences had such a token, and it takes {LEAST}." in last.found.evidence(0, 0)


def test_what_no_model_can_read_is_refused() -> None:
    with pytest.raises(AttnvizError, match="The model can read too few of the sentences"):
        list(measure("translator", ["Quixotic zephyrs vex.", "Jumbled sphinxes quiz."]))


@given(st.lists(st.sampled_from(["a", "b", "c", " ", "", "d e", "f"])))
def test_no_sentence_is_in_both_halves(lines: list[str]) -> None:
    naming, measuring = halves(lines)
    assert not set(naming) & set(measuring)
    assert sorted(naming + measuring) == sorted({line for line in lines if line.strip()})
    assert len(naming) - len(measuring) in (0, 1)


A_B_A = Layout(
    queries=np.arange(1, 4),
    keys=np.arange(1, 4),
    separators=np.array([4]),
    marks=np.zeros((1, 3), dtype=np.bool_),
    alike=np.array([[[0, 0, 1], [0, 0, 0], [1, 0, 0]]], dtype=np.bool_),
    apart=np.zeros((3, 3), dtype=np.bool_),
)
"""[CLS] a b a [SEP]."""

ALL, CAUSAL = np.ones((5, 5), dtype=np.bool_), np.tri(5, dtype=np.bool_)


@pytest.mark.parametrize(
    ("rule", "mask", "possible"),
    [
        (PREVIOUS, ALL, {(2, (1,), (3,)), (3, (2,), (1,))}),
        (PREVIOUS, CAUSAL, {(3, (2,), (1,))}),  # the second word sees none but the one before it
        (SAME_WORD, ALL, {(1, (3,), (2,)), (3, (1,), (2,))}),
        (ITSELF, ALL, {(at, (at,), (other,)) for at in (1, 2, 3) for other in (1, 2, 3) if at != other}),
        (FIRST, ALL, {(at, (0,), (4,)) for at in (1, 2, 3)}),
        (SEPARATOR, ALL, {(at, (4,), (0,)) for at in (1, 2, 3)}),
        (FIRST, CAUSAL, {(2, (0,), (1,)), (3, (0,), (1,)), (3, (0,), (2,))}),  # [SEP] is never seen
    ],
)
def test_the_control_is_another_token_of_the_same_sort(
    rule: Rule, mask: Mask, possible: set[tuple[int, tuple[int, ...], tuple[int, ...]]]
) -> None:
    found = set()
    for seed in range(60):
        drawn = draw(rule, A_B_A, mask, np.random.default_rng(seed))
        assert drawn is not None
        place, looked_at, another = drawn
        found.add((place, *(tuple(np.flatnonzero(cells).tolist()) for cells in (looked_at, another))))
    assert found == possible


def test_a_text_without_a_control_is_not_measured() -> None:
    two = replace(
        A_B_A, queries=np.arange(1, 3), keys=np.arange(1, 3), alike=np.zeros((1, 2, 2), dtype=np.bool_)
    )
    assert draw(PREVIOUS, two, ALL, np.random.default_rng(0)) is None


def of_two_heads(
    normal: list[float], without: list[list[list[float]]], elsewhere: list[list[list[float]]]
) -> Effects:
    """One layer of two heads, both named by a rule.

    Shares of normal are left [way][first, second, both] without these heads, and of the control's effect,
    which is half of normal, [way][first, second].
    """
    effects = Effects(PREVIOUS, [[PREVIOUS, PREVIOUS]])
    assert effects.removals == [Removal(0, (0,)), Removal(0, (1,)), Removal(0, (0, 1))]
    for at, whole in enumerate(normal):
        ways = [whole * share[at % len(share)] for way in without for share in way]
        effects.distances.append(np.array([whole, *ways]))
        control = [whole / 2 * share[at % len(share)] for way in elsewhere for share in way]
        effects.elsewhere.append(np.array([whole / 2, *control]))
    return effects


def test_lost_and_kept_worked_by_hand() -> None:
    normal = [1.0, 3.0] * 15
    # Without the first head 1.0 · 0.4 + 3.0 · 0.8 = 2.8 of 4 are left.
    effects = of_two_heads(
        normal, [[[0.4, 0.8], [0.9], [0.2]], [[0.7], [1.1], [0.5]]], [[[0.9], [0.9]], [[0.5], [1.2]]]
    )
    silenced, averaged = effects.removed(0.95)[0, 0]
    # The parts are 0.6 and 0.6, the ratio 0.3: pulls ±0.3 / 2, and 1.96 · 0.15 · √(1 / 29) to either side.
    reach = 1.96 * 0.15 / math.sqrt(29)
    assert silenced.lost == approx(0.3, reach)
    assert silenced.others == pytest.approx(0.1)
    assert silenced.beyond == approx(0.3 - 0.1, reach)
    assert silenced.kept
    assert silenced.kept.value == pytest.approx((0.9 - 0.2) / 0.8)
    assert averaged.lost == approx(0.3)  # the same in every sentence
    assert averaged.others == pytest.approx(-0.1)
    assert averaged.beyond == approx(0.3 - 0.5)
    assert averaged.kept == approx((1.1 - 0.5) / 0.5)
    second = effects.removed(0.95)[0, 1][0]
    assert (second.lost.value, second.others) == pytest.approx((0.1, 0.3))
    assert second.kept
    assert second.kept.value == pytest.approx((0.7 - 0.2) / 0.8)
    nothing = of_two_heads(normal, [[[1.0], [1.0], [1.0]]] * 2, [[[1.0], [1.0]]] * 2)
    none = Part(0.0, 0.0, 0.0)
    assert nothing.removed(0.95)[0, 0][0] == Removed(none, 0.0, none, None)
    effects.distances = effects.distances[: LEAST - 1]
    assert effects.removed(0.95) == {}


def approx(value: float, reach: float = 0.0) -> Any:
    """A part with an interval of so much to either side."""
    ends: list[Any] = [pytest.approx(value + off, abs=1e-4) for off in (0, -reach, reach)]
    return Part(*ends)


def removed(lost: float, others: float = 0.0, beyond: float = 0.01, kept: float = 0.0) -> Removed:
    """What is surely at least so much."""
    first, second, third = (Part(low + 0.1, low, low + 0.2) for low in (lost, beyond, kept))
    return Removed(first, others, second, third)


TRIFLE = Part(0.009, 0.008, 0.01)


@pytest.mark.parametrize(
    ("silenced", "averaged", "stamp"),
    [
        (removed(0.1), removed(0.01), "needed"),
        (removed(0.1), removed(-0.01), "undecided"),
        (removed(0.1, others=0.2), removed(0.3), "undecided"),
        (removed(0.1, beyond=0.0), removed(0.3), "undecided"),
        (removed(0.1), replace(removed(0.1), lost=TRIFLE), "undecided"),
        (removed(0.0), replace(removed(0.1), lost=TRIFLE), "picture only"),
        (removed(-0.1, kept=0.5), removed(-0.1, kept=0.6), "sufficient"),
        (replace(removed(-0.1), kept=None), removed(-0.1, kept=0.6), "picture only"),
        (removed(0.1, kept=0.5), removed(0.1, kept=0.49), "needed"),
        (removed(0.1, kept=0.5), removed(0.1, kept=0.5), "needed and sufficient"),
    ],
)
def test_a_stamp_needs_both_ways(silenced: Removed, averaged: Removed, stamp: str) -> None:
    assert Verdict(0, 0, PREVIOUS, silenced=silenced, averaged=averaged).stamp == stamp


def of_one_head(**more: Removed) -> HeadVerdicts:
    verdict = Verdict(1, 0, PREVIOUS, 0.64, 0.17, 200, 100, 0.1714, **more)
    return HeadVerdicts(SPECIAL, (Verdict(0, 0), verdict), 1)


def test_a_verdict_in_a_sentence_and_its_evidence() -> None:
    silenced = Removed(Part(0.31, 0.24, 0.38), 0.012, Part(0.2, 0.11, 0.29), Part(0.83, 0.6, 1.04))
    averaged = Removed(Part(0.28, 0.21, 0.35), -0.03, Part(0.1, 0.02, 0.18), Part(0.7, 0.55, 0.9))
    found = of_one_head(silenced=silenced, averaged=averaged)
    assert found.told(1, 0) == (
        "Over 200 sentences of ours, in head **2-1** a token on average gives the token before it **17 % of "
        "its attention, 64 % of what goes to words**. **Needed and sufficient:** without the head, the "
        "output changes less when that is replaced, and of what its layer adds to this, the head alone "
        "keeps half."
    )
    evidence = (
        "If the token before is replaced, a token’s output turns (1 − cosine: 0.171, 100 sentences). Of that "
        "is lost:\n\n"
        "| | head silent | its mean instead |\n|---|---|---|\n"
        "| without the head | 31.0 % (24.0 to 38.0 %) | 28.0 % (21.0 to 35.0 %) |\n"
        "| – more than of the control’s effect | 20.0 % (11.0 to 29.0 %) | 10.0 % (2.0 to 18.0 %) |\n"
        "| without another head of its layer (median) | 1.2 % | −3.0 % |\n"
        "| *kept* by the head alone, of what its layer adds | 83.0 % (60.0 to 104.0 %) | 70.0 % (55.0 to "
        "90.0 %) |"
    )
    assert found.evidence(1, 0) == evidence
    less = replace(silenced, lost=Part(-0.31, -0.38, -0.24), kept=None)
    found = of_one_head(silenced=less, averaged=averaged)
    assert "of what goes to words**. **Undecided:** the head has some effect" in found.told(1, 0)
    changed = evidence.replace("31.0 % (24.0 to 38.0 %)", "−31.0 % (−38.0 to −24.0 %)")
    changed = changed.replace("is lost:", "is lost: Below 0: it turns further.")
    assert found.evidence(1, 0) == changed[: changed.index("\n| *kept*")]
    assert found.evidence(0, 0) == ""


def test_the_file_gives_back_what_was_written(tmp_path: Path) -> None:
    way = removed(0.123456, 0.1)
    heads = (Verdict(0, 0), Verdict(0, 1, PREVIOUS, 0.6, 0.2, 9, 30, 0.25, way, replace(way, kept=None)))
    file, entry = tmp_path / "heads.json", resolve.entry("minilm")
    verdicts_file.write(file, entry, HeadVerdicts(SPECIAL, heads, 2))
    files, found = verdicts_file.read(file)
    assert files == entry.files_digest == resolve.entry("minilm-scratch").files_digest
    assert found.special == SPECIAL
    assert found.heads[0].label is None
    assert found.heads[0].stamp == ""
    assert found.of(0, 1).label is PREVIOUS
    rounded = replace(way, lost=Part(0.2235, 0.1235, 0.3235), beyond=Part(0.11, 0.01, 0.21))
    assert (found.of(0, 1).silenced, found.of(0, 1).averaged) == (rounded, replace(rounded, kept=None))
    for damaged in ("", "{}", '{"format": "attnviz verdicts 2"}', "[" * 10**5, json.dumps([1])):
        file.write_text(damaged, "utf-8")
        with pytest.raises(AttnvizError, match="does not hold verdicts on heads"):
            verdicts_file.read(file)


def test_the_stored_verdicts_are_on_the_bundled_bert_alone() -> None:
    found = verdicts_file.stored(resolve.entry("minilm"))
    assert found is not None
    assert found is verdicts_file.stored(resolve.entry("minilm-scratch"))
    assert [(each.layer, each.head) for each in found.heads] == list(np.ndindex(6, 12))
    assert found.of(1, 9).label is PREVIOUS
    assert verdicts_file.stored(resolve.entry("translator")) is None


@pytest.mark.everything
def test_the_stored_verdicts_are_what_the_command_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    def only(tally: Tally) -> list[list[Rule | None]]:
        return [[rule if rule is SAME_WORD else None for rule in row] for row in labels(tally)]

    monkeypatch.setattr("attnviz.experiments.verdicts.labels", only)
    *_, last = measure("minilm", behaviour.bundled().splitlines())
    stored = verdicts_file.stored(resolve.entry("minilm"))
    assert stored is not None
    again = [each for each in last.found.heads if each.label]
    before = [each for each in stored.heads if each.label is SAME_WORD]
    assert [(each.layer, each.head, each.stamp) for each in again] == [
        (each.layer, each.head, each.stamp) for each in before
    ]
    for one, other in zip(again, before, strict=True):
        for way in ("silenced", "averaged"):
            here, there = getattr(one, way), getattr(other, way)
            assert here.lost.value == pytest.approx(there.lost.value, abs=1e-3)
            assert here.lost.low == pytest.approx(there.lost.low, abs=3e-3)
            assert here.beyond.value == pytest.approx(there.beyond.value, abs=1e-3)
