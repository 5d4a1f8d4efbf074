"""A transformer from scratch: each file covers one idea of the paper and returns the values of all steps.

In shapes, `*batch` and `*head` are any number of leading axes: one text has no batch axis, and several
texts of equal length can run as a batch.
"""
