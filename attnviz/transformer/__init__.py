"""A transformer from scratch: every file is one idea of the paper, and every step it takes is returned.

In the shapes, `*batch` and `*head` are any number of leading axes: one text has no batch axis, and several
texts of equal length can be run at once.
"""
