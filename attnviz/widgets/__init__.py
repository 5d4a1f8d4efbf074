"""The attention pictures of the app, notebooks and reports: JavaScript, CSS and their data."""
