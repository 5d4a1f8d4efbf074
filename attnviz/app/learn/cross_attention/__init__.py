"""The sections of the Learn page “How does one sequence read another?”, and what they compute."""
