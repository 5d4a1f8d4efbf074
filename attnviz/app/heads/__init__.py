"""Shared parts of the pages about heads, and a folder for each page."""
