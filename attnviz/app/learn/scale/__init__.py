"""The sections of the Learn page “Why divide by √d?”, and what they compute."""
