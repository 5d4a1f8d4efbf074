"""Sections of the page that lays what the weights say beside what else has been proposed to look at."""
