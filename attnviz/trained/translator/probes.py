"""The sentences that are tracked while a translator is trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """A sentence with its reference translation.

    Attributes:
        source: English words.
        target: French words of the reference translation.
        referent: The noun to which "it" refers.
        other: The other candidate.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    referent: str
    other: str

    @property
    def it(self) -> int:
        """Position of "it" in the source, from 0."""
        return self.source.index("it")

    @property
    def pronoun(self) -> int:
        """Position of "il" or "elle" in the target, from 0; the decoder predicts it in this row."""
        return next(place for place, word in enumerate(self.target) if word in {"il", "elle"})


# The referent of "it" is in [ ], the other candidate in ( ); the reference translation is below.
_PROBES = """
the [dog] did not cross the (road) as it was too tired
le chien n' a pas traversé la route car il était trop fatigué
the (dog) did not cross the [road] as it was too narrow
le chien n' a pas traversé la route car elle était trop étroite
the [trophy] does not fit in the (suitcase) as it is too big
le trophée ne rentre pas dans la valise car il est trop grand
the (trophy) does not fit in the [suitcase] as it is too small
le trophée ne rentre pas dans la valise car elle est trop petite
the [goat] did not enter the (garden) because it was too tired
la chèvre n' est pas entrée dans le jardin parce qu' elle était trop fatiguée
the (goat) did not enter the [garden] because it was too muddy
la chèvre n' est pas entrée dans le jardin parce qu' il était trop boueux
the (cat) did not chase the [mouse] since it was too fast
le chat n' a pas poursuivi la souris puisqu' elle était trop rapide
as it was too tired the [dog] did not cross the (road)
comme il était trop fatigué le chien n' a pas traversé la route
"""


def _probe(source: str, target: str) -> Probe:
    words = source.split()
    referent, other = (next(word for word in words if word[0] == sign)[1:-1] for sign in "[(")
    return Probe(tuple(word.strip("[]()") for word in words), tuple(target.split()), referent, other)


_LINES = _PROBES.strip().splitlines()
PROBES = tuple(map(_probe, _LINES[::2], _LINES[1::2]))
"""Three minimal pairs, a sentence about a chase, and a sentence with "it" before its referent."""
