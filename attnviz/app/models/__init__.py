"""The sections of the page Models."""
