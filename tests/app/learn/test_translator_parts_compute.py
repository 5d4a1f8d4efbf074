"""What a translator is made of: parts counted by hand."""

from attnviz.app.learn.translate.compute import count
from attnviz.transformer.encoder_decoder import EncoderDecoder


def test_every_part_has_as_many_numbers_as_its_matrices_and_together_they_are_the_model() -> None:
    network = EncoderDecoder(
        source_vocabulary=13,
        target_vocabulary=17,
        d_model=6,
        n_heads=3,
        d_feed_forward=5,
        encoder_layers=2,
        decoder_layers=1,
    )
    attention = 4 * (6 * 6 + 6)
    feed_forward = (6 * 5 + 5) + (5 * 6 + 6)
    found = {part.name: part.parameters for part in count(network)}
    assert found == {
        "table of English words": 13 * 6,
        "encoder: attention": 2 * attention,
        "encoder: feed-forward": 2 * feed_forward,
        "table of French words": 17 * 6,
        "decoder: attention": attention,
        "decoder: cross-attention": attention,
        "decoder: feed-forward": feed_forward,
        "all Add & Norm": (2 * 2 + 3) * 2 * 6,
    }
    assert sum(found.values()) == sum(values.numel() for values in network.parameters())
