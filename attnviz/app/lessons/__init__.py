"""What the Learn pages share, and a folder for each of them."""
