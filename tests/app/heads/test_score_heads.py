"""The page Score heads without a browser: its scores equal the results of `measure`; invalid input."""

import csv
import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.heads.score import results
from attnviz.experiments import head_tests
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.pairs import EXAMPLE
from attnviz.experiments.scoring import Scores, measure
from tests.app.shown import clean, message_to, page_text, press, visit, wait_finished

LINES = "The ferry was late again.\nWho left the gate open?\nBees dance, and bears dance, too.\nIt rains."
RELATIONS = "The dog chased a cat.\n  object cat>chased\nShe saw the boat.\n  object boat>saw"

pytestmark = pytest.mark.usefixtures("short_corpora")


def scores_of(test: str, text: str, model: str = "minilm") -> Scores:
    (head_test,) = head_tests.find(test)
    *_, last = measure([head_test], Corpus.from_text(text), model)
    return last.found[test]


def paste(test: str, text: str, **parameters: str) -> AppTest:
    app = visit("score_heads", test=test, source="Paste", **parameters)
    app.text_area[0].set_value(text)
    return clean(wait_finished(app.run()))


@pytest.mark.parametrize(
    ("test", "text"), [("next token", LINES), ("pronoun to noun", EXAMPLE), ("object to verb", RELATIONS)]
)
def test_map_table_and_file_have_the_scores(test: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[str] = []
    monkeypatch.setattr(results, "save_file", lambda _label, contents, *_, **__: files.append(contents()))
    app = paste(test, text)
    scores = scores_of(test, text)
    np.testing.assert_allclose(message_to(app, "head_map")["values"], scores.mean.ravel(), rtol=1e-5)
    rows = list(csv.DictReader(io.StringIO(files[-1].removeprefix("\ufeff"))))
    table = app.dataframe[0].value
    order = np.argsort(-scores.mean.ravel(), kind="stable")
    names = [f"{at // 12 + 1}-{at % 12 + 1}" for at in order]
    assert list(table["head"]) == [f"{row['layer']}-{row['head']}" for row in rows] == names
    np.testing.assert_allclose(table["score"], 100 * scores.mean.ravel()[order])
    np.testing.assert_allclose([float(row["score"]) for row in rows], scores.mean.ravel()[order])
    assert set(table["examples"]) == {scores.examples}


def test_best_head_has_its_held_out_score_and_can_be_opened() -> None:
    app = paste("object to verb", RELATIONS, layer="4", head="2")
    best = scores_of("object to verb", RELATIONS).best
    assert best is not None
    name = f"{best.layer + 1}-{best.head + 1}"
    tested = "chosen for its score on half of the sentences, tested on the other half"
    assert f"**Head {name}**, {tested} | **{100 * best.score:.0f} %" in page_text(app)
    app = press(app, f"Open head {name}")
    assert message_to(app, "head_map")["selected"] == [best.layer + 1, best.head + 1]


def test_unreadable_lines_are_reported() -> None:
    app = visit("score_heads", test="pronoun to noun", source="Paste")
    app.text_area[0].set_value(f"{EXAMPLE}\nThe dog slept.").run()
    assert app.error[0].value.replace("\\", "").startswith("Line 2: a pair needs two words in [ ], then")
    app.text_area[0].set_value(" ").run()
    assert app.info
    app = paste("itself", f"A dog.\n{'word ' * 600}")
    assert "Skipped: 1 line" in [expander.label for expander in app.expander]
    app = paste("object to verb", "A wombat sat.\n  subject wombat>sat", model="translator")
    assert "cannot use any of the examples" in app.info[0].value
    assert "“wombat”" in page_text(app)
