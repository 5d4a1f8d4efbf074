"""Export as tables, reports and figures."""
