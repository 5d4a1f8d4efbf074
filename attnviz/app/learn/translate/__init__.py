"""The sections of the Learn page “How does a transformer translate?”, and what they compute."""
