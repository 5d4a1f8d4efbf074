"""A static site with Explore: the bundled BERT runs in the visitor's browser."""
