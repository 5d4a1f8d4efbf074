"""A small vision-language model, trained for attnviz, that answers questions about coloured shapes."""
