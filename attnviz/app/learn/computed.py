"""What a Learn page computes is kept between two clicks, like everything that all visitors share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import streamlit as st

from attnviz.app import warm_up
from attnviz.models import catalogue

MODEL = catalogue.FROM_SCRATCH

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def computed(compute: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Keep the results of a computation with the lessons' BERT; see `computed_with`."""
    return computed_with(MODEL, compute)


def translated(compute: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Keep the results of a computation with the translator; see `computed_with`."""
    return computed_with(catalogue.TRANSLATOR, compute)


def computed_with(model: str, compute: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Keep the results of a computation, the 16 latest, for every visitor.

    The model is loaded first, and torch with it: only then may `compute` import what needs torch.

    Args:
        model: its name in the catalogue.
        compute: takes only strings, numbers, flags, and tuples of them: Streamlit samples large arrays when
            it hashes them. What it returns is read-only.
    """

    @st.cache_resource(max_entries=16, show_spinner="Computing with the model …")
    @wraps(compute)
    def compute_with_model(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        warm_up.model(model)
        return compute(*args, **kwargs)

    return compute_with_model
