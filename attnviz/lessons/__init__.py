"""What the Learn pages compute: a text and choices in, read-only arrays out."""
