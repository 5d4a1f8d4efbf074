"""A small vision-language model for questions about coloured shapes, trained for attnviz."""
