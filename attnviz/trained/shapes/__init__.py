"""A small vision-language model of our own, which answers questions about coloured shapes in a grid."""
