"""What can be read off a trace: which tokens are shown, what heads do, and where each number comes from."""
