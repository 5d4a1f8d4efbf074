"""Train and evaluate the small models; not in the wheel.

The training loop, the grammars and the networks are in `attnviz.trained`, because a lesson trains a model.
Run these commands in the root of the repository to regenerate everything, in about two hours on one core:

- `python -m training.translators`: weights of the translators, and results for three seeds each;
- `python -m training.storytellers`: weights of the storytellers, and results for three seeds each;
- `python -m training.steps`: the stored steps of five training runs;
- `python -m training.distances`: recurrent networks and a transformer on sentences of increasing length;
- `python -m training.shapes`: the vision-language model of coloured shapes.

Training is bit-for-bit reproducible on one machine with one thread (`OMP_NUM_THREADS=1`). Processors that
round differently can produce different weights.
"""
