"""The sections of the page “Do the weights tell the story?”."""
