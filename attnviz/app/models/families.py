"""Which kinds of models can be opened, and which are refused, with the reason."""

from __future__ import annotations

import streamlit as st

from attnviz.app import markdown
from attnviz.models import families

SHOWN = {
    "Encoders": (
        *("bert", "roberta", "distilbert", "albert", "electra", "modernbert"),
        *("mpnet", "deberta", "deberta-v2"),
    ),
    "Decoders": (
        *("gpt2", "gpt_neox", "opt", "llama", "mistral", "qwen2", "qwen3", "gemma", "phi", "phi3"),
        *("gpt_neo", "gptj", "bloom"),
    ),
    "Encoder–decoders": ("bart", "marian", "t5"),
    "For pictures": ("vit",),
}
"""The families that the tests compare with transformers, by their parts."""


def draw() -> None:
    """Draw what is shown and what is refused."""
    st.header("Which models can be shown", anchor=False)
    st.markdown(
        "A model is shown only if its pictures are exact. When one is opened, its weights are compared with "
        "those that transformers itself computes for a short text; where they differ, it is refused. These "
        "families are tested, by the name that stands as `model_type` in a model's `config.json`:"
    )
    st.markdown("\n".join(f"- **{parts}:** {_listed(names)}" for parts, names in SHOWN.items()))
    st.markdown(
        "Others that are built like them can be opened too. A model's files must be **safetensors** (pickle "
        "files can run programs, and are never read), with a `config.json` and a tokenizer that says where "
        "each token stands in the text, as those with a `tokenizer.json` do. A model that needs code of its "
        "own is refused: no code but that of transformers runs here."
    )
    with st.expander("Refused families, and why"):
        st.markdown("\n".join(f"- {_listed(names)}: {reason}." for reason, names in families.REFUSED.items()))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(markdown.code(name) for name in names)
