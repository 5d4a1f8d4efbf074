"""Edits that ablate or redirect attention or replace a head's output, and their application to models."""
