"""The sections of the Learn page “Where do the weights come from?”, and what they compute."""
