"""A transformer from scratch: each file is one idea of the paper, and returns all intermediate values.

In shapes, `*batch` and `*head` are any number of leading axes: one text has no batch axis, and several
texts of equal length can run as a batch.
"""
