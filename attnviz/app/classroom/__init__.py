"""Live rooms without accounts: students' pages follow the teacher's page and pointer, and show polls."""
