"""The one door from models to traces."""
