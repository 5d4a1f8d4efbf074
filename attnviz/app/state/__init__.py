"""What a visitor has chosen: the table of all choices in a link, their values, and what is said of a link."""
