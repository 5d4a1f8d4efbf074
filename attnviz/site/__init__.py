"""Explore as static files: no server, and the bundled BERT runs in the visitor's browser."""
