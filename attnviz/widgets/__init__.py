"""Attention pictures shared by app, notebook and report: the browser's code and its data."""
