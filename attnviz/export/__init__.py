"""Export of traces as tables, reports and figures."""
