"""What the Learn pages share, and each page's sections."""
