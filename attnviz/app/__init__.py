"""Everything that needs Streamlit: what pages share, and a folder of sections for each page."""
