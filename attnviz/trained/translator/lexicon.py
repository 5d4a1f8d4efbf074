"""The translator's words in English and French, and which fit together.

Every English word has one French translation, so that each sentence has exactly one right answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Gender = Literal["m", "f"]
Tense = Literal["past", "present"]


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun.

    Attributes:
        kind: what sort of thing it names: what can be so of it, and what it can do.
    """

    english: str
    french: str
    gender: Gender
    kind: str

    @property
    def pronoun(self) -> str:
        """Its English pronoun: "it", or "he" or "she" for people."""
        return "it" if self.kind not in PEOPLE else {"m": "he", "f": "she"}[self.gender]


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, with its two genders.

    Attributes:
        kinds: which kinds of nouns it describes.
        hinders: True if it prevents an action ("tired", "narrow"), False if it helps
            ("hungry", "safe"), None if neither.
        before: True if it precedes its noun in French.
        before_vowel: its masculine before a vowel ("vieil"), if that is another.
        absolute: True for what is so or is not so, and never "too" or "very" so ("open").
        colour: True for a colour, which is used as an attribute only ("the white dog").
    """

    english: str
    masculine: str
    feminine: str
    kinds: frozenset[str]
    hinders: bool | None = None
    before: bool = False
    before_vowel: str | None = None
    absolute: bool = False
    colour: bool = False

    def french(self, gender: Gender) -> str:
        """The form that agrees with a noun of this gender."""
        return self.masculine if gender == "m" else self.feminine


@dataclass(frozen=True, eq=False)
class Wish:
    """A wish, used like an adjective: "it wanted to sleep"."""

    english: str
    french: str
    kinds: frozenset[str]
    hinders: bool


Predicate = Adjective | Wish


@dataclass(frozen=True, eq=False)
class Reasons:
    """Reasons for an action, in the subject or in the object."""

    of_subject: tuple[str, ...]
    of_object: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb that takes an object.

    Attributes:
        english, past, third: "enter", "entered", "enters".
        present: the French present, third person: "entre".
        participle: the French participle: "entré"; None for a verb with a state as its past.
        imperfect: the French past of such a verb: "craignait".
        auxiliary: "a", or "est", after which the participle agrees with the subject.
        english_preposition, french_preposition: the preposition before the object, if there is one.
        kinds: the sorts of objects.
        toward: False for what one does with what is bad ("avoid", "fear").
        because, because_not: why one does it, and why not; None where all helps that helps, and all
            hinders that hinders.
    """

    english: str
    past: str
    third: str
    present: str
    participle: str | None
    kinds: frozenset[str]
    imperfect: str = ""
    auxiliary: str = "a"
    english_preposition: str = ""
    french_preposition: str = ""
    toward: bool = True
    because: Reasons | None = None
    because_not: Reasons | None = None

    def spoken(self, tense: Tense, *, negated: bool) -> str:
        """The English verb: "crossed", "did not cross"."""
        if negated:
            verb = f"did not {self.english}" if tense == "past" else f"does not {self.english}"
        else:
            verb = self.past if tense == "past" else self.third
        return f"{verb} {self.english_preposition}"

    def french(self, tense: Tense) -> str:
        """The French word that "ne … pas" encloses: "traverse", "a" (traversé), "craignait"."""
        if tense == "present":
            return self.present
        return self.auxiliary if self.participle else self.imperfect


@dataclass(frozen=True, eq=False)
class Word:
    """A word, or a few that belong together, with one fixed translation."""

    english: str
    french: str


def _nouns(kind: str, masculine: str, feminine: str) -> tuple[Noun, ...]:
    listed: tuple[tuple[Gender, str], ...] = (("m", masculine), ("f", feminine))
    entries = ((entry.split("/"), gender) for gender, words in listed for entry in words.split())
    return tuple(Noun(english, french, gender, kind) for (english, french), gender in entries)


def _verb(english: str, french: str, kinds: frozenset[str], **others: Any) -> Verb:
    """A verb by its forms: "enter entered enters", and "entre entré", or "craint" without a participle."""
    (simple, past, third), (present, _, participle) = english.split(), french.partition(" ")
    return Verb(simple, past, third, present, participle or None, kinds, **others)


def _reasons(of_subject: str, of_object: str) -> Reasons:
    return Reasons(tuple(of_subject.split()), tuple(of_object.split()))


PEOPLE = frozenset({"person"})
LIVING = PEOPLE | {"animal"}
PLACES = frozenset({"way", "water", "land", "building"})
BUILT = frozenset({"building", "landmark"})
OBJECTS = frozenset({"thing", "container"})
ALL = LIVING | PLACES | BUILT | OBJECTS | {"vehicle"}

NOUNS = (
    *_nouns(
        "animal",
        "dog/chien cat/chat horse/cheval donkey/âne fox/renard wolf/loup rabbit/lapin bear/ours "
        "elephant/éléphant squirrel/écureuil",
        "cow/vache goat/chèvre mouse/souris hen/poule tortoise/tortue frog/grenouille giraffe/girafe "
        "otter/loutre panther/panthère antelope/antilope",
    ),
    *_nouns(
        "way",
        "path/chemin bridge/pont tunnel/tunnel boulevard/boulevard",
        "road/route street/rue alley/ruelle avenue/avenue track/piste",
    ),
    *_nouns(
        "water", "lake/lac stream/ruisseau pond/étang canal/canal", "river/rivière sea/mer lagoon/lagune"
    ),
    *_nouns(
        "land",
        "field/champ garden/jardin park/parc wood/bois desert/désert",
        "meadow/prairie forest/forêt valley/vallée farm/ferme courtyard/cour",
    ),
    *_nouns(
        "building",
        "castle/château shed/hangar garage/garage hotel/hôtel",
        "barn/grange cave/grotte stable/écurie hut/cabane house/maison",
    ),
    *_nouns("landmark", "tree/arbre wall/mur mill/moulin", "church/église school/école fountain/fontaine"),
    *_nouns(
        "vehicle",
        "truck/camion train/train bus/bus tractor/tracteur taxi/taxi",
        "car/voiture motorbike/moto ambulance/ambulance van/camionnette cart/charrette",
    ),
    *_nouns(
        "thing",
        "trophy/trophée book/livre violin/violon hat/chapeau cake/gâteau",
        "guitar/guitare lamp/lampe bottle/bouteille doll/poupée clock/horloge",
    ),
    *_nouns(
        "container",
        "bag/sac drawer/tiroir basket/panier chest/coffre",
        "suitcase/valise box/boîte crate/caisse wardrobe/armoire",
    ),
    *_nouns(
        "person", "man/homme boy/garçon king/roi uncle/oncle", "woman/femme girl/fille queen/reine aunt/tante"
    ),
)

_GROUND = frozenset({"way", "land"})
_FAST = frozenset({"animal", "vehicle"})
_COLOURED = frozenset({"animal", "vehicle", "thing", "container", "building"})

ADJECTIVES = (
    # What hinders and helps the living.
    Adjective("tired", "fatigué", "fatiguée", LIVING, hinders=True),
    Adjective("weak", "faible", "faible", LIVING, hinders=True),
    Adjective("shy", "timide", "timide", LIVING, hinders=True),
    Adjective("lazy", "paresseux", "paresseuse", LIVING, hinders=True),
    Adjective("sick", "malade", "malade", LIVING, hinders=True),
    Adjective("injured", "blessé", "blessée", LIVING, hinders=True, absolute=True),
    Adjective("careful", "prudent", "prudente", LIVING, hinders=True),
    Adjective("hungry", "affamé", "affamée", LIVING, hinders=False),
    Adjective("thirsty", "assoiffé", "assoiffée", LIVING, hinders=False),
    Adjective("curious", "curieux", "curieuse", LIVING, hinders=False),
    Adjective("brave", "courageux", "courageuse", LIVING, hinders=False),
    Adjective("strong", "fort", "forte", LIVING, hinders=False),
    Adjective("calm", "calme", "calme", LIVING | {"water"}, hinders=False),
    # What they are besides.
    Adjective("kind", "gentil", "gentille", LIVING),
    Adjective("selfish", "égoïste", "égoïste", LIVING),
    Adjective("loyal", "fidèle", "fidèle", LIVING),
    Adjective("gentle", "doux", "douce", LIVING),
    Adjective("young", "jeune", "jeune", LIVING, before=True),
    Adjective("fierce", "féroce", "féroce", frozenset({"animal"})),
    # What hinders and helps vehicles.
    Adjective("slow", "lent", "lente", _FAST, hinders=True),
    Adjective("heavy", "lourd", "lourde", frozenset({"vehicle"}), hinders=True),
    Adjective("rusty", "rouillé", "rouillée", frozenset({"vehicle"}), hinders=True),
    Adjective("fast", "rapide", "rapide", _FAST, hinders=False),
    Adjective("light", "léger", "légère", frozenset({"vehicle"}), hinders=False),
    Adjective("reliable", "fiable", "fiable", frozenset({"vehicle"}), hinders=False),
    # What is bad and good about places.
    Adjective("narrow", "étroit", "étroite", frozenset({"way"}), hinders=True),
    Adjective("wide", "large", "large", frozenset({"way", "water"}), hinders=True),
    Adjective("steep", "raide", "raide", frozenset({"way"}), hinders=True),
    Adjective("slippery", "glissant", "glissante", frozenset({"way"}), hinders=True),
    Adjective("muddy", "boueux", "boueuse", _GROUND, hinders=True),
    Adjective("flooded", "inondé", "inondée", _GROUND | {"building"}, hinders=True, absolute=True),
    Adjective("dangerous", "dangereux", "dangereuse", PLACES, hinders=True),
    Adjective("dark", "sombre", "sombre", _GROUND | {"building"}, hinders=True),
    Adjective("noisy", "bruyant", "bruyante", _GROUND | {"building"}, hinders=True),
    Adjective("dirty", "sale", "sale", PLACES, hinders=True),
    Adjective("deep", "profond", "profonde", frozenset({"water"}), hinders=True),
    Adjective("cold", "froid", "froide", frozenset({"water", "building"}), hinders=True),
    Adjective("safe", "sûr", "sûre", PLACES, hinders=False),
    Adjective("quiet", "tranquille", "tranquille", PLACES, hinders=False),
    Adjective("clean", "propre", "propre", PLACES, hinders=False),
    Adjective("dry", "sec", "sèche", _GROUND, hinders=False),
    Adjective("short", "court", "courte", frozenset({"way"}), hinders=False),
    Adjective("sunny", "ensoleillé", "ensoleillée", frozenset({"land"}), hinders=False),
    Adjective("warm", "chaud", "chaude", frozenset({"water", "building"}), hinders=False),
    Adjective("open", "ouvert", "ouverte", frozenset({"way", "building"}), hinders=False, absolute=True),
    # What things and containers are.
    Adjective("tiny", "minuscule", "minuscule", OBJECTS | {"animal"}, absolute=True),
    Adjective("huge", "énorme", "énorme", OBJECTS | BUILT | _FAST, absolute=True),
    Adjective("bulky", "encombrant", "encombrante", frozenset({"thing"})),
    Adjective("full", "plein", "pleine", frozenset({"container"})),
    Adjective("empty", "vide", "vide", frozenset({"container"}), absolute=True),
    # What everything can be.
    Adjective("big", "grand", "grande", ALL, before=True),
    Adjective("small", "petit", "petite", ALL, before=True),
    Adjective("old", "vieux", "vieille", ALL, before=True, before_vowel="vieil"),
    Adjective("beautiful", "beau", "belle", ALL, before=True, before_vowel="bel"),
    Adjective("white", "blanc", "blanche", _COLOURED, colour=True),
    Adjective("black", "noir", "noire", _COLOURED, colour=True),
    Adjective("red", "rouge", "rouge", OBJECTS | {"vehicle"}, colour=True),
    Adjective("green", "vert", "verte", OBJECTS | {"vehicle"}, colour=True),
)

WISHES = (
    Wish("sleep", "dormir", LIVING, hinders=True),
    Wish("wait", "attendre", LIVING, hinders=True),
    Wish("eat", "manger", LIVING, hinders=False),
    Wish("drink", "boire", LIVING, hinders=False),
    Wish("play", "jouer", LIVING, hinders=False),
)

PREDICATES: tuple[Predicate, ...] = (*ADJECTIVES, *WISHES)

CONTRARIES = (
    "big small tiny huge bulky",
    "full empty",
    "narrow wide",
    "dry muddy flooded",
    "dirty clean",
    "noisy quiet",
    "dangerous safe",
    "dark sunny",
    "cold warm",
    "young old",
    "fast slow",
    "heavy light",
    "rusty reliable",
    "strong weak",
    "brave shy",
    "kind selfish",
    "fierce gentle calm",
    "tired lazy",
)
"""Predicates that exclude each other for one noun: "the small dog was too big"."""

_LAND = frozenset({"land", "building"})

VERBS = (
    _verb("cross crossed crosses", "traverse traversé", PLACES - {"building"}),
    _verb("reach reached reaches", "atteint atteint", PLACES),
    _verb("explore explored explores", "explore exploré", PLACES),
    _verb("enter entered enters", "entre entré", _LAND, auxiliary="est", french_preposition="dans"),
    _verb("avoid avoided avoids", "évite évité", PLACES, toward=False),
    _verb("visit visited visits", "visite visité", _LAND),
    _verb(
        "fit fitted fits",
        "rentre",
        frozenset({"container"}),
        because=_reasons("small tiny", "big huge empty"),
        because_not=_reasons("big huge bulky", "small tiny full"),
        imperfect="rentrait",
        english_preposition="in",
        french_preposition="dans",
    ),
    _verb(
        "fear feared fears",
        "craint",
        LIVING,
        because=_reasons("shy weak young", "fierce strong huge selfish"),
        because_not=_reasons("brave calm curious", "gentle small slow kind"),
        imperfect="craignait",
        toward=False,
    ),
    _verb(
        "chase chased chases",
        "poursuit poursuivi",
        LIVING,
        because=_reasons("hungry eat play", "small slow weak"),
        because_not=_reasons("tired lazy sleep", "fast fierce strong"),
    ),
    _verb(
        "help helped helps",
        "aide aidé",
        LIVING,
        because=_reasons("kind strong loyal", "injured weak sick"),
        because_not=_reasons("lazy selfish wait", "fierce strong calm"),
    ),
    _verb(
        "follow followed follows",
        "suit suivi",
        LIVING,
        because=_reasons("curious loyal thirsty drink", "gentle calm brave"),
        because_not=_reasons("tired sick injured", "fast fierce selfish lazy"),
    ),
    _verb(
        "frighten frightened frightens",
        "effraie effrayé",
        LIVING,
        because=_reasons("dark deep dangerous noisy wide steep", "shy young weak"),
        because_not=_reasons("quiet safe clean sunny", "brave calm strong"),
        toward=False,
    ),
    _verb(
        "attract attracted attracts",
        "attire attiré",
        LIVING,
        because=_reasons("quiet clean sunny warm safe", "curious thirsty drink play"),
        because_not=_reasons("dirty noisy cold muddy", "sick careful lazy sleep"),
    ),
)

ARTICLES = ("the", "a", "an")
INTENSIFIERS = (Word("too", "trop"), Word("very", "très"), Word("so", "si"), Word("really", "vraiment"))
ENOUGH = Word("enough", "assez")
PREPOSITIONS = (Word("behind", "derrière"), Word("near", "près de"), Word("in front of", "devant"))
CONNECTIVES = (Word("as", "car"), Word("because", "parce que"), Word("since", "puisque"))
FRONTED_CONNECTIVES = (Word("as", "comme"), *CONNECTIVES[1:])
CONJUNCTIONS = (Word("and", "et"), Word("but", "mais"))
ADVERBIALS: dict[Tense, tuple[Word, ...]] = {
    "past": (Word("yesterday", "hier"), Word("last night", "hier soir"), Word("this morning", "ce matin")),
    "present": (
        Word("today", "aujourd'hui"),
        Word("every day", "chaque jour"),
        Word("in winter", "en hiver"),
    ),
}

NOUN = {noun.english: noun for noun in NOUNS}
VERB = {verb.english: verb for verb in VERBS}
_CONTRARY = {word: frozenset(group.split()) for group in CONTRARIES for word in group.split()}
PREDICATE = {predicate.english: predicate for predicate in PREDICATES}

ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "puisque": "puisqu'"}
_SILENT_H = ("homme", "horloge", "hôtel", "hiver")


def begins_with_vowel(french: str) -> bool:
    """Whether a word is elided before this one: "l'âne", "l'homme", but "le hangar"."""
    return french[0] in "aeiouâéèêîô" or french.startswith(_SILENT_H)


def contrary(predicate: Predicate) -> frozenset[str]:
    """The words that this one excludes for the same noun, itself among them."""
    return _CONTRARY.get(predicate.english, frozenset({predicate.english}))


def indefinite(english: str) -> str:
    """The article, "a" or "an", for these words."""
    return "an" if english[0] in "aeiou" else "a"


_MASCULINE = {
    "elle": "il",
    "la": "le",
    "une": "un",
    **{adjective.feminine: adjective.masculine for adjective in ADJECTIVES},
    **{adjective.before_vowel: adjective.masculine for adjective in ADJECTIVES if adjective.before_vowel},
    **{
        f"{verb.participle}e": verb.participle
        for verb in VERBS
        if verb.participle and verb.auxiliary == "est"
    },
}


def without_gender(french: str) -> str:
    """A French word in its masculine form if it agrees with a noun, else as it is."""
    return _MASCULINE.get(french, french)
