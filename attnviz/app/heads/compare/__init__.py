"""The sections of the page “What changes?”."""
