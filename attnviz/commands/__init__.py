"""What `python -m attnviz` can do, one command in a file; each imports what is slow to import only to run."""
