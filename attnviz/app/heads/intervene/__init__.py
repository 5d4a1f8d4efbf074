"""The sections of the page “What if a head were silent?”."""
