"""What heads do over many sentences, and what a model does without them, as iterators of `Progress`."""
