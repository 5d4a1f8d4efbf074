"""All link parameters: the name, type and pages of each."""

from __future__ import annotations

from functools import cache

from attnviz.app.state.choice import Choice, Flag, Number, OneOf, Real, Several, Text, Token
from attnviz.capture.model import MAX_NEW_TOKENS, MAX_SEED, MAX_TEMPERATURE


def _on(*pages: str) -> frozenset[str]:
    return frozenset(pages)


_EXPLORE, _IMAGES = _on("explore"), _on("images")
_TOOLS = _on("beyond_weights", "compare", "find", "intervene", "score_heads")
_WITH_KIND = _TOOLS - _on("find", "score_heads")
_BEYOND_WEIGHTS, _COMPARE, _SCORE_HEADS = _on("beyond_weights"), _on("compare"), _on("score_heads")
_FIND, _INTERVENE = _on("find"), _on("intervene")

_AVERAGE, _SCALE, _MANY_HEADS = _on("weighted_average"), _on("scale"), _on("many_heads")
_QUERY_KEY_VALUE, _MASKS, _POSITIONS = _on("query_key_value"), _on("masks"), _on("positions")
_CROSS, _BLOCK, _TRANSLATE, _CAUSE = _on("cross_attention"), _on("block"), _on("translate"), _on("cause")
_WATCH, _LONG, _WRITE = _on("watch_it_learn"), _on("long_distances"), _on("write")
_INDUCTION = _on("induction")
_WITH_HEAD = _MANY_HEADS | _QUERY_KEY_VALUE | _MASKS
_BERT_PAGES = _WITH_HEAD | _AVERAGE | _POSITIONS | _BLOCK
_TRANSLATOR_PAGES = _TRANSLATE | _CAUSE
STORYTELLER_PAGES = _WRITE | _INDUCTION
LESSONS = _BERT_PAGES | _SCALE | _CROSS | _TRANSLATOR_PAGES | _WATCH | _LONG | STORYTELLER_PAGES

_INDEXES = _on("learn", "heads")
TEACHER = Flag(
    name="teacher", pages=LESSONS | _EXPLORE | (_TOOLS - _FIND) | _INDEXES, copied=False, carried=True
)

# Hides a page until the answer to its question is revealed; set by a teacher's link.
PREDICT = Number(name="predict", pages=LESSONS, minimum=0, maximum=1, default=0)
LANGUAGE = OneOf(name="language", pages=LESSONS, carried=True)

# The open section below the picture.
OPEN = OneOf(name="open", pages=LESSONS | (_TOOLS - _SCORE_HEADS) | _on("models", "classroom"))

# The teacher's own question.
_QUESTION_PAGES = LESSONS | _EXPLORE | _TOOLS | _IMAGES
QUIZ = Text(name="quiz", pages=_QUESTION_PAGES)
OPTIONS = Text(name="options", pages=_QUESTION_PAGES)
RIGHT = OneOf(name="right", pages=_QUESTION_PAGES)

# Model and input.
MODEL = OneOf(name="model", pages=_EXPLORE | _TOOLS | _IMAGES, carried=True)
KIND = OneOf(name="kind", pages=_EXPLORE | _WITH_KIND, carried=True)
TEXT = Text(name="text", pages=_EXPLORE | _TOOLS | _BERT_PAGES | _CROSS, always=True, carried=True)
OTHER = Text(name="other", pages=_EXPLORE | _COMPARE, always=True, carried=True)
TARGET = Text(name="target", pages=_EXPLORE, carried=True)
SECOND_BOX = OneOf(name="second", pages=_EXPLORE)
STORYTELLER_SIZE = OneOf(name="size", pages=STORYTELLER_PAGES)
PROMPT = Text(name="prompt", pages=_WRITE, always=True, carried=True)
ENGLISH = Text(name="english", pages=_TRANSLATOR_PAGES | _QUERY_KEY_VALUE, always=True, carried=True)
TRANSLATOR = OneOf(name="translator", pages=_TRANSLATOR_PAGES)
READER = Text(name="reader", pages=_CROSS)
OWN_NAME = Text(name="own", pages=_on("models"))
PICTURE = OneOf(name="picture", pages=_IMAGES)
QUESTION = Text(name="question", pages=_IMAGES)
TILES = Flag(name="tiles", pages=_IMAGES)
MEAN = Flag(name="mean", pages=_IMAGES)
ROOM = Text(name="room", pages=_on("classroom"))
CITED = OneOf(name="cited", pages=_on("references"))

# Layer, head and tokens.
LAYER = Number(name="layer", pages=_EXPLORE | _TOOLS | _IMAGES | _WITH_HEAD | _BLOCK, carried=True)
HEAD = Number(name="head", pages=_EXPLORE | _TOOLS | _IMAGES | _WITH_HEAD, carried=True)
ALSO = Several(name="also", pages=_EXPLORE)
QUERY = Token(name="query", pages=_EXPLORE | _TOOLS | _BERT_PAGES, carried=True)
KEY = Token(name="key", pages=_EXPLORE | _POSITIONS)
PATCH = OneOf(name="patch", pages=_IMAGES)

# Display.
SHOW = OneOf(name="show", pages=_EXPLORE)
BETWEEN = OneOf(name="between", pages=_EXPLORE)
VIEW = OneOf(name="view", pages=_EXPLORE)
STAGE = OneOf(name="stage", pages=_EXPLORE)
PER_HEAD = Flag(name="scale", pages=_EXPLORE)
HIDE = Flag(name="hide", pages=_EXPLORE)
MERGE = Flag(name="merge", pages=_EXPLORE)
POOL = OneOf(name="pool", pages=_EXPLORE)
SUM = Several(name="sum", pages=_EXPLORE)
FILTER = OneOf(name="filter", pages=_EXPLORE)

# Generation.
_WRITING = _EXPLORE | _WRITE
WRITE = Number(name="write", pages=_WRITING, minimum=0, maximum=MAX_NEW_TOKENS, default=0)
TEMPERATURE = Real(
    name="temperature", pages=_WRITING, minimum=0.0, maximum=MAX_TEMPERATURE, default=0.0, step=0.1
)
TOP_K = Number(name="top_k", pages=_WRITING, minimum=0, maximum=1000, default=0)
TOP_P = Real(name="top_p", pages=_WRITING, minimum=0.01, maximum=1.0, default=1.0, step=0.05)
SEED = Number(name="seed", pages=_WRITING, minimum=0, maximum=MAX_SEED, default=0)

# Tools.
SOURCE = OneOf(name="source", pages=_SCORE_HEADS | _FIND)
TEST = OneOf(name="test", pages=_SCORE_HEADS)
MEASURE = OneOf(name="measure", pages=_BEYOND_WEIGHTS)
ROWS = OneOf(name="rows", pages=_COMPARE)
_OPEN_EDITED = _INTERVENE | _CAUSE
EDITS = Several(name="edits", pages=_OPEN_EDITED | _INDUCTION, always=True, opens_set=_OPEN_EDITED)
POINTS_AT = Token(name="points_at", pages=_INTERVENE)
EXPECTED_AT = Token(name="expected_at", pages=_INTERVENE)
PATCHED_WITH = Text(name="patched_with", pages=_INTERVENE)
LOGIT_OF = OneOf(name="logit_of", pages=_INTERVENE)
LOGIT_AGAINST = OneOf(name="logit_against", pages=_INTERVENE)
VECTOR = OneOf(name="vector", pages=_FIND)
COUNT = OneOf(name="count", pages=_FIND, numbers=True)

# Lessons, in order.
SCORING = OneOf(name="scoring", pages=_AVERAGE)
SOFTMAX_TEMPERATURE = OneOf(name="softmax_temperature", pages=_AVERAGE)
SPLIT = OneOf(name="split", pages=_AVERAGE)
D_HEAD = OneOf(name="d", pages=_SCALE, numbers=True)
VECTORS_SEED = Number(name="vectors_seed", pages=_SCALE, minimum=0, maximum=9999, default=8)
STEP = OneOf(name="step_of_six", pages=_QUERY_KEY_VALUE)
CONVENTION = OneOf(name="convention", pages=_QUERY_KEY_VALUE)
MASK = OneOf(name="mask", pages=_MASKS)
MASK_SIZE = Number(name="mask_size", pages=_MASKS, minimum=0, default=3, capped=True)
MASK_AFTER = Number(name="mask_after", pages=_MASKS, minimum=0, default=3, capped=True)
CELLS = Several(name="cells", pages=_MASKS)
EDITED = Token(name="edited", pages=_MASKS)
REPLACEMENT = Text(name="replacement", pages=_MASKS)
ORDER = Number(name="order", pages=_POSITIONS, minimum=0, maximum=999)
ENCODING = OneOf(name="encoding", pages=_POSITIONS)
DIMENSION_PAIR = Number(name="dimension_pair", pages=_POSITIONS, minimum=0, default=4)
SHIFT = Number(name="shift", pages=_POSITIONS, minimum=0, default=5)
SLOPES = Number(name="slopes", pages=_POSITIONS, maximum=32, default=8)
CROSS_VIEW = OneOf(name="cross_view", pages=_CROSS)
CROSS_QUERY = Token(name="cross_query", pages=_CROSS)
STAGE_IN_BLOCK = Number(name="stage_in_block", pages=_BLOCK, maximum=7, default=7)
FRENCH_WORD = OneOf(name="french", pages=_TRANSLATE)
CAUSE_HEAD = OneOf(name="cause_head", pages=_CAUSE)
CAUSE_WORD = OneOf(name="cause_word", pages=_CAUSE)
LEARNER = OneOf(name="learner", pages=_WATCH)
PROBE = OneOf(name="probe", pages=_WATCH)
WATCHED_HEAD = OneOf(name="watched", pages=_WATCH)
TRAINING_STEP = OneOf(name="training_step", pages=_WATCH, numbers=True)
LEARNING_VIEW = OneOf(name="learning_view", pages=_WATCH)
LIVE_SEED = Number(name="live_seed", pages=_WATCH, minimum=0, maximum=9999)
LIVE_STEPS = OneOf(name="live_steps", pages=_WATCH, numbers=True)
WRITTEN_WORD = Number(name="written_word", pages=_WRITE, capped=True)
REPEATED = Text(name="words_twice", pages=_INDUCTION)
REPEATED_WORD = OneOf(name="repeated_word", pages=_INDUCTION)

TABLE: tuple[Choice[object], ...] = tuple(
    choice for choice in list(globals().values()) if isinstance(choice, Choice)
)
"""All parameters, in their order in links."""


@cache
def of_page(page: str) -> dict[str, Choice[object]]:
    """Return the parameters of a page, by name."""
    return {choice.name: choice for choice in TABLE if page in choice.pages}
