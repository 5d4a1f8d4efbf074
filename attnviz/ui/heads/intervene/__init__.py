"""What is changed in a model's attention, and what that moves: one file for each section of the page."""
