"""Live rooms without accounts: students' pages follow the teacher's page, with polls and pointing."""
