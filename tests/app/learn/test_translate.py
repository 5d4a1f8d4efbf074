"""The page on the translator without a browser: its sentences and choices."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from attnviz.app import markdown
from attnviz.app.learn import measured
from attnviz.app.learn.english import by_sort
from attnviz.app.learn.menus import Choices, choices_of
from attnviz.app.learn.translate.compute import take_apart, translate
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator import menu
from attnviz.trained.translator.training import Settings
from attnviz.trained.translator.vocabulary import ENGLISH
from tests.app.shown import clean, opened, visit, words

TIRED = "The dog did not cross the road as it was too tired."


def test_one_click_gives_the_other_reading_and_its_pronoun() -> None:
    app = visit("translate", french="3 n'")
    assert app.selectbox(key="french").value == "3 n'"
    assert "Le chien n'a pas traversé la route car il était trop fatigué." in [
        each.value for each in app.header
    ]
    assert "the *dog* (chien, masculine: *il*) or the *road* (route, feminine: *elle*)" in words(app)
    clean(app.button_group(key="menu_reading").set_value("narrow").run())
    assert app.text_input(key="english").value == TIRED.replace("tired", "narrow")
    assert app.selectbox(key="french").value == "10 elle"
    assert "Le chien n'a pas traversé la route car elle était trop étroite." in [
        each.value for each in app.header
    ]


def test_menus_follow_the_sentence_and_write_it() -> None:
    app = opened(visit("translate"), "english_examples")
    assert [
        app.selectbox(key=f"menu_{part}").value for part in ("subject", "verb", "object", "predicate")
    ] == [*("dog", "cross", "road", "tired")]
    app.selectbox(key="menu_object").set_value("river").run()
    assert app.text_input(key="english").value == TIRED.replace("road", "river")
    app.selectbox(key="menu_subject").set_value("trophy").run()
    trophy = choices_of(str(app.text_input(key="english").value))
    assert trophy
    assert trophy.subject == "trophy"
    app.text_input(key="english").set_value("The dog was tired.").run()
    assert app.selectbox(key="menu_subject").value is None
    assert not app.exception


def test_every_sentence_of_the_menu_is_found_again_in_it() -> None:
    for subject in menu.SUBJECTS[::7]:
        verb = menu.verbs(subject)[-1]
        object_ = menu.objects(subject, verb)[-1]
        of_subject, of_object = menu.predicates(subject, verb, object_)
        for predicate in (of_subject[-1], of_object[-1]):
            text = " ".join(menu.canonical(subject, verb, object_, predicate).source)
            found = choices_of(text)
            assert found == Choices(subject, verb, object_, predicate)
            assert predicate in found.readings
            assert found.readings[0] in of_subject
            assert found.readings[1] in of_object


def test_every_head_every_part_and_the_rest_of_the_certainty_are_told() -> None:
    app = visit("translate")
    told, trace = words(app), translate("translator", TIRED).trace
    for block in trace.blocks:
        for head, weights in enumerate(block.weights):
            row = weights[8 if block.kind == "encoder" else 9]
            token = re.escape(block.key_tokens[int(row.argmax())].text)
            line = rf"\| {block.layer + 1}-{head + 1} \| `{token}[^|]*` {percent(float(row.max()))}"
            assert re.search(line, told), (block.kind, head)
    total = sum(part.parameters for part in take_apart("translator"))
    assert f"**{total:,} numbers** in all" in told
    listed = re.findall(r"^\| [a-zA-Z&: -]+ \| ([\d,]+) \|", told, re.MULTILINE)
    assert sum(int(number.replace(",", "")) for number in listed) == total
    assert f"{100 * Settings.of('taught').label_smoothing:.0f} % of the certainty" in told


def test_a_sentence_unlike_all_that_was_learned_is_marked() -> None:
    app = visit("translate", english="the road the dog")
    assert "Outside what this model learned" in app.warning[0].value
    assert "Its French may be wrong here." in app.warning[0].value


def test_after_an_unknown_word_all_known_ones_are_listed_and_the_menus_go_on() -> None:
    app = opened(visit("translate"), "english_examples")
    listed = [one for one in app.expander if one.label == "All the words it knows"]
    assert len(listed) == 1
    app.text_input(key="english").set_value("The zebra was tired.").run()
    listed = [one for one in app.expander if one.label == "All the words it knows"]
    assert len(listed) == 2  # where sentences are built, and below the error
    assert all("**Animals**: dog, cat" in one.markdown[0].value for one in listed)
    app.selectbox(key="menu_subject").set_value("cow").run()
    assert not app.error
    assert str(app.text_input(key="english").value).startswith("The cow did not")


def test_every_english_word_is_listed_once() -> None:
    listed = [word for words in by_sort().values() for word in words]
    assert sorted(listed) == sorted(ENGLISH.words[3:])


FIGURES = {
    "variant": "taught",
    "shipped": True,
    "exact": {"pair": 0.9912, "description": 0.9876, "triple": 0.9753},
    "pronoun": 0.9642,
    "layer": 2,
    "head": 3,
    "seed": "0",
    "subject": {"found": 0.93},
    "object": {"found": 0.88},
    "silenced": {"pronoun": 0.5, "rest": 1},
    "moved": {"changed": 1, "rest": 1},
    "familiarity": {"sentences": 600, "but_for_a_noun": 312},
}


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that the page takes for the figures that attnviz ships."""
    monkeypatch.setattr(measured, "_FILE", tmp_path / "figures.json")
    measured.held_out.cache_clear()
    yield tmp_path / "figures.json"
    measured.held_out.cache_clear()


def test_how_often_it_is_right_is_told_from_what_was_measured(figures: Path) -> None:
    other = {**FIGURES, "variant": "untold", "pronoun": 0.1}
    figures.write_text(json.dumps([other, {**FIGURES, "shipped": False, "pronoun": 0.2}, FIGURES]), "utf-8")
    told = words(visit("translate"))
    for share in ("99.1 % with", "98.8 % with", "97.5 % with", "*elle* in 96.4 %"):
        assert share in told
    assert "*dog* and *road* never stood in one" in told
    assert "But 312 of these pairs' 600 sentences equal one of its training but for a noun" in told
    assert "2-3 finds the noun that *it* means most often: in 93 % of" in told
    assert "in 88 % where" in told


def test_the_figures_that_ship_are_read() -> None:
    runs = measured.held_out()
    shipped = [run.variant for run in runs if run.shipped]
    assert shipped == ["taught", "training-wheels", "candidates", "untold", "decorative"]
    written = json.loads(measured._FILE.read_text("utf-8"))
    assert [run.moved for run in runs] == [each["moved"]["changed"] for each in written]


def test_missing_figures_are_named(figures: Path) -> None:
    app = visit("translate")
    assert "are missing or damaged" in words(app)
    for content in ("", "[", "[1]", '[{"variant": "untold"}]'):
        figures.write_text(content, "utf-8")
        measured.held_out.cache_clear()
        assert "are missing or damaged" in words(clean(app.run()))


@pytest.mark.parametrize("name", ["translator", "translator-untold"])
def test_a_link_opens_every_translator_and_says_what_it_was_told(name: str) -> None:
    entry = catalogue.entry(name)
    app = visit("translate", translator=entry.title)
    assert not app.warning
    assert markdown.plain(entry.description) in app.selectbox(key="translator").help
    heads = len(translate(name, TIRED).trace.block("cross", 0).weights)
    assert app.selectbox(key="cross_head").options == ["all", *(str(head + 1) for head in range(heads))]
