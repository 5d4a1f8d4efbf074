"""What the pages share: choices that live in the link, caches, and the browser widgets."""
