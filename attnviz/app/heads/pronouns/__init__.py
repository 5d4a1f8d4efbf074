"""The sections of the page “Which head resolves the pronoun?”."""
