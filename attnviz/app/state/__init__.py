"""What a visitor has chosen: the table of all link parameters, their values, and notices about a link."""
