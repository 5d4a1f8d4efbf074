"""The sections of the Learn page “How does attention know the order?”, and what they compute."""
