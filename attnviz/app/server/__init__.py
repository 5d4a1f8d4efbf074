"""The server of the app: routes, cache, jobs, security headers, and patches of Streamlit."""
