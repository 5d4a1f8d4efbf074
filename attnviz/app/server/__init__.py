"""The server around the app: serving, cache, jobs, security headers, and the patches of Streamlit."""
