"""A static site with Explore and Masks; the bundled BERT runs in the visitor's browser."""
