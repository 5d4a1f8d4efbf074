"""The sections of the Learn page “What are query, key and value?”, and what they compute."""
