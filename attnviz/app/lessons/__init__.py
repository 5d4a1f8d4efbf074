"""Shared parts of the Learn pages, and a folder for each lesson."""
