"""The sections of the Learn page “Why attention, and not memory?”, and what they compute."""
