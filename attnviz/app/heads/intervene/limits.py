"""What one could wrongly conclude from silencing a head."""

import streamlit as st


def draw() -> None:
    """Say it."""
    with st.expander("What this does not show", icon=":material/warning:"):
        st.markdown(
            """
- **That a head which moves little is useless.** Others may do the same, or stand in for it: silence two that
  matter little alone, and the two together may matter much. In another sentence, the head may decide.
- **What the model would be without the head.** While it learned, no head was ever silent. The layers behind
  it now read vectors that they have never met, and part of what moves comes from that alone. Putting the
  head's average output in its place, instead of nothing, is gentler and often moves less.
- **That a turned output is a worse one.** An angle says how far a vector turns, not whether what reads it
  can still use it. Where the model expects words, look at those.
- **That early layers are better or worse than late ones.** What a late head adds reaches the output at once;
  what an early one adds passes through all other layers, which can hide it or enlarge it.
- **Why.** One sees that something depends on a head, not what the head carried there.
"""
        )
