"""The sections of the Learn page “Why many heads?”, and what they compute."""
