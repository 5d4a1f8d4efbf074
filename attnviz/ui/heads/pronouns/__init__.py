"""Which head resolves the pronoun, and which one knows the grammar: the sections of that page."""
