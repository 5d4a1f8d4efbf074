"""The losses: cross entropy, and for some variants −ln of the attention weights of guided heads."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnviz.trained.translator.training_batch import MISSING, PADDING, TrainingBatch
from attnviz.trained.translator.variants import GUIDED_CROSS_HEAD, GUIDED_HEAD, GUIDED_LAYER, Variant
from attnviz.transformer.encoder_decoder import EncoderDecoderSteps


def translation_loss(
    logits: Float[Tensor, "sentence target vocabulary"], batch: TrainingBatch, label_smoothing: float
) -> Float[Tensor, ""]:
    """Return the cross entropy of the correct words.

    Args:
        logits: Logits of the next word.
        label_smoothing: ε_ls, the probability spread over all words (Vaswani et al. 2017, §5.4).
    """
    return cross_entropy(
        logits.flatten(0, 1),
        batch.labels.flatten(),
        ignore_index=PADDING,
        label_smoothing=label_smoothing,
    )


def attention_loss(steps: EncoderDecoderSteps, batch: TrainingBatch, variant: Variant) -> Float[Tensor, ""]:
    """Return the attention loss of a variant: 0 if its guided heads attend only to their target tokens.

    Args:
        batch: Sentences with the positions of the target tokens; those without "it" are skipped.
    """
    with_it = (batch.it != MISSING).nonzero().squeeze(1)
    total = steps.logits.new_zeros(())
    if not len(with_it):
        return total
    _, _, _, it, referent, other, pronoun = batch.select(with_it)
    from_it = steps.encoder.layers[GUIDED_LAYER].attention.attention.scores[with_it, GUIDED_HEAD, it]
    cross = steps.decoder.layers[0].cross_attention.attention
    from_pronoun = cross.scores[with_it, :, pronoun]
    if variant.referent:
        total = total + variant.referent * surprisal(from_it, referent.unsqueeze(1))
    if variant.candidates:
        total = total + variant.candidates * surprisal(from_it, torch.stack((referent, other), dim=1))
    if variant.alignment:
        total = total + variant.alignment * surprisal(from_pronoun[:, GUIDED_CROSS_HEAD], it.unsqueeze(1))
    if variant.end:
        ends = torch.full((from_pronoun.shape[0] * from_pronoun.shape[1], 1), from_pronoun.shape[2] - 1)
        total = total + variant.end * surprisal(from_pronoun.flatten(0, 1), ends)
    return total


def surprisal(scores: Float[Tensor, "query key"], places: Int[Tensor, "query place"]) -> Float[Tensor, ""]:
    """Return −log Σ_j weight[j] over some keys j, averaged over queries: 0 if these keys have all the weight.

    It is computed from the scores, because a weight of 0 has no gradient.

    Args:
        places: Positions of the keys of each query; `MISSING` for no key.
    """
    log_weights = scores.log_softmax(dim=-1).gather(1, places.clamp(min=0))
    return -log_weights.masked_fill(places == MISSING, float("-inf")).logsumexp(dim=1).mean()
