"""Attention as one file or one figure of a notebook: the app's own pictures, with no server behind them."""
