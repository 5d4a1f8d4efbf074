"""Names for the files that a visitor takes along, safe on every system whatever the model is called."""

import re

_MOST = 60  # characters of a model's name that a file's name has room for


def file_name_of(model: str) -> str:
    """How a file about this model begins: "attnviz-openai-gpt2" for "openai/gpt2"; never a path.

    Of a long name the end is kept, where a folder has its own name.
    """
    kept = re.sub(r"[^A-Za-z0-9_]+", "-", model)
    return f"attnviz-{kept[-_MOST:].strip('-') or 'model'}"
