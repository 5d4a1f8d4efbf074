"""The pictures that are drawn and touched in the browser itself."""
