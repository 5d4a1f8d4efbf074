"""What the pages about heads at work share, and one file of sections for each of them."""
