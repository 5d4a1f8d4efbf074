"""A transformer from scratch: every file is one idea of the paper, and every step it takes is returned."""
