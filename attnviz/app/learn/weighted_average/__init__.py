"""The sections of the Learn page “What is attention?”, and what they compute."""
