"""The sections of the page on what each head does, on one sentence and on many."""
