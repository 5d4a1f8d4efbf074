"""A small vision-language model that was trained for attnviz and answers questions about coloured shapes."""
