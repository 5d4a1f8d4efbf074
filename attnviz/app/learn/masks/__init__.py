"""The sections of the Learn page “Who may look at whom?”, and what they compute."""
