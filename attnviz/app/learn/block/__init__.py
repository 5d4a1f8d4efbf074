"""The sections of the Learn page “What happens inside a block?”, and what they compute."""
