"""The browser widgets that several pages mount."""
