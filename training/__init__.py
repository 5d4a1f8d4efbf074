"""Makes and measures the weights of our small models; not in the wheel.

The training loop, the grammars and the networks are in `attnviz.trained`, since a page trains live. From the
root of the repository, these make everything anew, in some two hours of one core:

- `python -m training.translators`: weights of the translators, figures of three seeds each;
- `python -m training.storytellers`: the same of the language models;
- `python -m training.steps`: the stored steps of four trainings;
- `python -m training.distances`: recurrent networks and a transformer on longer and longer sentences.

The same seed gives the same weights to the bit on one machine with one thread (`OMP_NUM_THREADS=1`). Where a
processor rounds otherwise, it can end in other weights.
"""
