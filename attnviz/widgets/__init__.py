"""The attention pictures of app, notebook and report: the browser's code and its data."""
