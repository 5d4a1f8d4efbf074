"""Live rooms without accounts: students' pages follow the teacher's, with polls and pointing."""
