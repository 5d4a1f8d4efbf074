"""The parts of the page on models: those that are on this server, and the visitor's own."""
