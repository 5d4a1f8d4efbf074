"""Reports as one HTML file, and figures in notebooks."""
