"""Attention as one HTML file, and as a figure in a notebook."""
