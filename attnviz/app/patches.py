"""Two corrections of Streamlit 1.67, which no setting makes."""

from streamlit import net_util
from streamlit.elements.widgets.number_input import Number, NumberInputSerde

_deserialize = NumberInputSerde.deserialize


def apply() -> None:
    """Correct the Streamlit of this process; doing it again changes nothing."""
    # When another site's page opens a websocket to this server, Streamlit asks an outside host for this
    # machine's address before it refuses. The whole server waits for the answer: 5 to 20 s without a network.
    net_util.get_external_ip = _no_address
    NumberInputSerde.deserialize = _finite  # type: ignore[method-assign]


def _no_address() -> None:
    """What Streamlit takes for "unknown"."""


def _finite(self: NumberInputSerde, ui_value: Number | None) -> Number | None:
    """An infinite number in a link (`?layer=inf`) is refused like any other that is out of range."""
    try:
        return _deserialize(self, ui_value)
    except OverflowError as error:
        raise ValueError(str(error)) from error
