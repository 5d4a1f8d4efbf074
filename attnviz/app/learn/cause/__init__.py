"""The sections of the Learn page “Is the picture the cause?”, and what they compute."""
