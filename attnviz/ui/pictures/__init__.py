"""The parts of the page on models that see: a picture, its patches, and where each of them looks."""
