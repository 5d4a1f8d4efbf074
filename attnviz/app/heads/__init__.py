"""What the pages about heads share, and a folder for each of them."""
