"""Edits that ablate or redirect attention or replace a head's output, and functions that apply them."""
