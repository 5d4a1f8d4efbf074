"""The sections of the page “What does each head do?”."""
