"""A visitor's choices: the table of all link parameters, their values, and notices about invalid links."""
