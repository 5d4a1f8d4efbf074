"""Pictures made of arrays and labels, one kind of picture a file."""
