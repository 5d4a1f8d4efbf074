"""Edits that silence attention or point it elsewhere, and how a model carries them out."""
