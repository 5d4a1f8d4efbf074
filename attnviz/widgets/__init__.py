"""The pictures of attention that app, notebook and report share: the browser's code, and what it is given."""
