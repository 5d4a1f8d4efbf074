"""The sections of the page “Where do queries and keys meet?”."""
