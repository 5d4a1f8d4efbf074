"""The Streamlit app: modules shared by pages, and a folder of sections for each page."""
