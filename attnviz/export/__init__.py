"""Tables, reports, notebook figures and figures for slides."""
