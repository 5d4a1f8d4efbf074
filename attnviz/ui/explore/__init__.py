"""The parts of the Explore page, one file for each thing a visitor sees."""
