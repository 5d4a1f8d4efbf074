"""Every placeholder in the lessons' texts has a value, for random sentences and options."""

from random import Random

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.contents import LESSONS
from attnviz.app.lessons.induction.page import MAX_WORDS, MIN_WORDS
from attnviz.trained.storyteller import grammar as storyteller
from attnviz.trained.translator.vocabulary import ENGLISH
from tests.app.shown import visit

SENTENCES = 17  # per lesson with a text box
PIECES = (
    *("the", "dog", "it", "tired", "antidisestablishmentarianism", "I", "2026", ".", "?!", "it's", "x"),
    *("😀", "👩‍👩‍👧", "🇫🇷", "שלום", "مرحبا", "مدرسة", "日本語", "naïve", "Ελλάδα", "ｆｕｌｌ"),
    *("<b>", "**bold**", "`code`", "$x$", "{{ x }}", "{% if %}", "[a](b)", "| a |", "\\", "#", ":red[x]"),
)
KNOWN = {
    "english": [word for word in ENGLISH.words if word[0] != "["],
    "prompt": [word for word in storyteller.VOCABULARY.words if word[0] != "["],
}
LIMITS = {"text": 24, "reader": 24, "english": 38, "prompt": 60, "words_twice": MAX_WORDS}  # maximum words


def sentence(rng: Random, box: str) -> str:
    """Return random words for a text box, at most `LIMITS[box]`, often repeated."""
    count = min(rng.choice((1, 2, 3, 12, 60)) + rng.randrange(3), LIMITS[box])
    if box == "words_twice":
        words = sorted({word for word in KNOWN["prompt"] if word.isalpha()})
        return " ".join(rng.sample(words, max(count, MIN_WORDS)))
    pool = rng.sample(KNOWN.get(box, PIECES), rng.choice((1, 3, 20)))
    return " ".join(rng.choices(pool, k=count))


def choose(rng: Random, app: AppTest) -> None:
    """Set two random widgets of the lesson to random options."""
    widgets = [
        *(each for each in app.selectbox if each.options),
        *(each for each in app.button_group if each.options and each.key != "open"),
        *app.number_input,
    ]
    for widget in rng.sample(widgets, min(2, len(widgets))):
        if hasattr(widget, "options"):
            widget.set_value(rng.choice(widget.options))
        else:
            widget.set_value(rng.randint(int(widget.min or 1), int(widget.max or 1)))


@pytest.mark.parametrize("lesson", [lesson.name for lesson in LESSONS])
def test_every_placeholder_has_a_value(lesson: str) -> None:
    rng = Random(lesson)  # noqa: S311
    app = visit(lesson)
    boxes = [box for box in LIMITS if any(each.key == box for each in app.text_input)]
    for _ in range(SENTENCES if boxes else 6):
        typed = {box: sentence(rng, box) for box in boxes}
        for box, text in typed.items():
            app.text_input(key=box).set_value(text)
        choose(rng, app)
        app.run()
        assert not app.exception, (typed, app.query_params, app.exception[0].value)
