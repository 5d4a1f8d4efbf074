"""The `attnviz` command, one subcommand a file."""
