"""Edits that ablate attention, point it elsewhere or replace what it puts out, and how models do so."""
