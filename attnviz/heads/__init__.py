"""What heads do over many sentences, and what the model does without them."""
