"""Types of link parameters, with methods that draw their widgets and correct invalid values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.app.state import memory

Value = TypeVar("Value")
Option = TypeVar("Option", bound=str | int)


@dataclass(frozen=True, kw_only=True)
class Choice(Generic[Value]):
    """A link parameter.

    Attributes:
        name: Name of the parameter, and key of the widget.
        pages: Names of the pages that have it.
        always: Include it in links even with its default value, because the default can vary.
        carried: A link between pages can set it even if both pages have a widget for it.
        copied: Include it in "Copy link".
        opens_set: Names of the pages that open with a value; there, links contain even an empty value.
    """

    name: str
    pages: frozenset[str]
    always: bool = False
    carried: bool = False
    copied: bool = True
    opens_set: frozenset[str] = frozenset()

    @property
    def is_set(self) -> bool:
        """True if it has a value."""
        return memory.has(self.name)

    def get(self, default: Value) -> Value:
        """Return the value, or `default` if it has none."""
        value: Value = memory.get(self.name, default)
        return value

    def set(self, value: Value) -> None:
        """Set the value, in a callback or before the widget is drawn."""
        memory.put(self.name, value)

    def keep(self) -> None:
        """Keep the value, if any, in a run that does not draw the widget."""
        if self.is_set:
            self.set(memory.get(self.name))

    def follow(self, default: Value) -> None:
        """Replace the previous default with this one, before the widget is drawn; keep any other value."""
        default_key = f"{self.name}: default"
        before = memory.get(default_key, default)
        if self.is_set and before != default:
            value = self.get(before)
            # Set even an unchanged value, so that the link includes it: links omit the default.
            self.set(default if value == before else value)
        memory.put(default_key, default)

    def forget(self) -> None:
        """Remove the value."""
        memory.forget(self.name)

    def written(self) -> list[str]:
        """Return the value as the texts that a link contains."""
        value = memory.get(self.name)
        if isinstance(value, list):
            return [str(item) for item in value]
        if isinstance(value, bool):
            return [str(value).lower()]
        return [] if value is None else [str(value)]

    def parse(self, values: Sequence[str]) -> Any:
        """Parse the texts that a link contains.

        Raises:
            ValueError: the value is invalid.
        """
        return values[-1]

    def correct(self, default: Value, is_valid: Callable[[Value], bool]) -> None:
        """Replace an empty or invalid value, such as another model's layer, with the default."""
        value = memory.get(self.name)
        if self.is_set and (value is None or not is_valid(value)):
            self.set(default)


@dataclass(frozen=True, kw_only=True)
class Text(Choice[str]):
    """A text, entered in a box."""

    def draw(self, label: str, default: str = "", **kwargs: Any) -> str:
        """Draw the box; `kwargs` are passed to `st.text_input`."""
        return str(st.text_input(label, default, key=self.name, bind="query-params", **kwargs))


@dataclass(frozen=True, kw_only=True)
class Number(Choice[int]):
    """An integer, entered in a box or with a slider.

    Attributes:
        minimum, maximum, default: Bounds and default; `draw` can override the last two, `slide` the maximum.
        capped: Clip a number that is too large, instead of using the default.
    """

    minimum: int = 1
    maximum: int = 1
    default: int = 1
    capped: bool = False

    def parse(self, values: Sequence[str]) -> int:  # noqa: D102 - as above
        return int(values[-1])

    def draw(
        self,
        label: str,
        maximum: int | None = None,
        default: int | None = None,
        *,
        omit_default: bool = True,
        **kwargs: Any,
    ) -> int:
        """Draw the box.

        Args:
            label: Label of the box.
            maximum: Largest number; None for the attribute `maximum`.
            default: Initial value, also used for an empty box, a number that is too small and, unless
                `capped`, one that is too large; None for the attribute `default`.
            omit_default: Omit the default from links.
            kwargs: Arguments of `st.number_input`.
        """
        maximum = self.maximum if maximum is None else maximum
        default = min(self.default if default is None else default, maximum)
        if not omit_default and not self.is_set:
            self.set(default)
        if self.capped and (self.get(default) or default) > maximum:
            self.set(maximum)
        self.correct(default, lambda value: self.minimum <= value <= maximum)
        first = default if omit_default else None
        drawn = st.number_input(
            label, self.minimum, maximum, first, key=self.name, bind="query-params", **kwargs
        )
        if drawn is None:
            st.rerun()
        return int(drawn)

    def slide(self, label: str, maximum: int) -> int:
        """Draw a slider up to this number."""
        self.correct(self.default, lambda value: self.minimum <= value <= maximum)
        return int(st.slider(label, self.minimum, maximum, self.default, key=self.name, bind="query-params"))


@dataclass(frozen=True, kw_only=True)
class Real(Choice[float]):
    """A decimal number between two bounds."""

    minimum: float
    maximum: float
    default: float
    step: float

    def parse(self, values: Sequence[str]) -> float:  # noqa: D102 - as above
        return float(values[-1])

    def draw(self, label: str, **kwargs: Any) -> float:
        """Draw the box; `kwargs` are passed to `st.number_input`."""
        self.correct(self.default, lambda x: math.isfinite(x) and self.minimum <= x <= self.maximum)
        bounds = self.minimum, self.maximum, self.default, self.step
        return float(st.number_input(label, *bounds, key=self.name, bind="query-params", **kwargs))


@dataclass(frozen=True, kw_only=True)
class OneOf(Choice[Any]):
    """One of several options, which are texts or integers."""

    numbers: bool = False

    def parse(self, values: Sequence[str]) -> str | int:  # noqa: D102 - as above
        return int(values[-1]) if self.numbers else values[-1]

    def segments(self, label: str, options: Sequence[Option], default: Option | None = None) -> Option:
        """Draw all options side by side; if `default` is None, the first option is the default."""
        first = self._corrected(options, default)
        chosen: Option | None = st.segmented_control(
            label,
            options,
            default=first,
            key=self.name,
            bind="query-params",
            required=True,
            label_visibility="collapsed",
        )
        if chosen is None:
            st.rerun()
        return chosen

    def labelled_segments(self, label: str, options: Sequence[str], text: Callable[[str], str]) -> str:
        """Draw all options side by side, labelled by `text`; the first option is the default."""
        self._read_from_url(options)
        first = self._corrected(options, None)
        chosen = st.segmented_control(
            label,
            options,
            default=first,
            key=self.name,
            required=True,
            label_visibility="collapsed",
            format_func=text,
        )
        self._write_to_url(None if chosen == first else chosen)
        return str(chosen)

    def optional_pills(self, label: str, options: Sequence[str]) -> str | None:
        """Draw all options as buttons; return None if none is selected."""
        if self.get(None) not in [*options, None]:
            self.set(None)
        chosen: str | None = st.pills(label, options, key=self.name, bind="query-params")
        return chosen

    def labelled_pills(self, label: str, options: Sequence[str], text: Callable[[str], str]) -> str | None:
        """Draw all options as buttons, labelled by `text`; return None if none is selected."""
        self._read_from_url(options)
        if self.get(None) not in [*options, None]:
            self.set(None)
        chosen: str | None = st.pills(label, options, key=self.name, format_func=text)
        self._write_to_url(chosen)
        return chosen

    def select(
        self, label: str, options: Sequence[Option], default: Option | None = None, **kwargs: Any
    ) -> Option:
        """Draw a menu of the options; `kwargs` are passed to `st.selectbox`."""
        at = options.index(self._corrected(options, default))
        chosen: Option = st.selectbox(label, options, at, key=self.name, bind="query-params", **kwargs)
        return chosen

    def slide(
        self, label: str, options: Sequence[Option], default: Option | None = None, **kwargs: Any
    ) -> Option:
        """Draw the options as a slider; `kwargs` are passed to `st.select_slider`."""
        first = self._corrected(options, default)
        chosen: Option = st.select_slider(label, options, first, key=self.name, bind="query-params", **kwargs)
        return chosen

    def _read_from_url(self, options: Sequence[str]) -> None:
        """Read the value from the URL; a widget bound to the URL would write the labels, not the values."""
        context = get_script_run_ctx()
        went_back = context is not None and context.is_history_navigation
        requested = st.query_params.get(self.name)
        if requested in options and (went_back or not self.is_set):
            self.set(requested)

    def _write_to_url(self, value: str | None) -> None:
        # Each write sends a message to the browser, even if the value is unchanged.
        if value is None:
            st.query_params.pop(self.name, None)
        elif st.query_params.get(self.name) != value:
            st.query_params[self.name] = value

    def _corrected(self, options: Sequence[Option], default: Option | None) -> Option:
        first = options[0] if default is None else default
        self.correct(first, lambda value: value in options)
        return first


@dataclass(frozen=True, kw_only=True)
class Several(Choice[list[Any]]):
    """Several of the options, or none."""

    def parse(self, values: Sequence[str]) -> list[str]:  # noqa: D102 - as above
        return list(values)

    def draw(self, label: str, options: Sequence[Option], **kwargs: Any) -> list[Option]:
        """Draw a multiple-choice menu; `kwargs` are passed to `st.multiselect`.

        Drops values that are no longer options, unless `kwargs` has `accept_new_options`.
        """
        if self.is_set and not kwargs.get("accept_new_options"):
            self.set([value for value in self.get([]) if value in options])
        return list(st.multiselect(label, options, key=self.name, bind="query-params", **kwargs))


@dataclass(frozen=True, kw_only=True)
class Flag(Choice[bool]):
    """A switch."""

    def parse(self, values: Sequence[str]) -> bool:  # noqa: D102 - as above
        return values[-1].lower() == "true"

    @property
    def on(self) -> bool:
        """True if it is on; False if it has no value yet."""
        return self.get(False)

    def toggle(self, label: str, default: bool = False, **kwargs: Any) -> bool:
        """Draw a switch; `kwargs` are passed to `st.toggle`."""
        return bool(st.toggle(label, default, key=self.name, bind="query-params", **kwargs))


@dataclass(frozen=True, kw_only=True)
class Token(Choice[str]):
    """A token of a text: its number and label, "11 it"."""

    def pick(self, group: DisplayToken) -> None:
        """Choose this token."""
        self.set(option(group))

    def draw(self, label: str, options: Sequence[str], default: str, scope: object) -> str:
        """Draw a menu of tokens; the chosen position stays the same if only labels change.

        Args:
            label: Label of the menu.
            options: Number and label of each token, "11 it", in order.
            default: One of the options.
            scope: Identifies the text. In the same text, a token with a new label is found by its number.
        """
        text_key, default_key = f"{self.name}: text", f"{self.name}: default"
        chosen = memory.get(self.name)
        if self.is_set and chosen not in options:
            number = str(chosen).split(" ", 1)[0] if memory.get(text_key) == scope else None
            same_number = [each for each in options if each.split(" ", 1)[0] == number]
            self.set(same_number[0] if same_number else default)
        elif self.is_set and memory.get(default_key, default) != default:
            # Set the value again, so that the link includes it: as the old default, it was omitted.
            self.set(chosen)
        memory.put(text_key, scope)
        memory.put(default_key, default)
        at = options.index(default)
        return str(st.selectbox(label, options, at, key=self.name, bind="query-params"))


def option(group: DisplayToken) -> str:
    """Return the menu option for a token, such as "11 it"."""
    return f"{group.number} {group.label}"
