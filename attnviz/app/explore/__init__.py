"""The sections of the page Explore."""
