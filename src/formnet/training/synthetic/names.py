# ruff: noqa: E501 (tables)
"""Made-up names of shops, towns and streets, composed of parts so that few of them repeat."""

from collections.abc import Callable

from formnet.training.synthetic.locales import FIRST_WORDS, Texts

#: Two halves of the names of towns, by language.
TOWNS: dict[str, tuple[Texts, Texts]] = {
    "en": (
        ("Ash", "Brook", "Clear", "Cedar", "Dun", "East", "Elm", "Fair", "Farn", "Glen", "Green", "Hart", "Haw", "Holly", "King", "Lake", "Lang", "Lin", "Maple", "Mill",
         "New", "North", "Oak", "Pine", "Red", "River", "Rock", "Rose", "Silver", "South", "Spring", "Stan", "Thorn", "Wal", "West", "White", "Wind", "Wood"),
        ("bridge", "brook", "bury", "dale", "field", "ford", "gate", "ham", "haven", "hurst", "land", "ley", "mont", "mouth", "port", "ridge", "side", "ton", "vale", "view", "ville", "wood", "worth"),
    ),
    "de": (
        ("Adel", "Alt", "Bad", "Birken", "Blau", "Eich", "Fried", "Grün", "Hohen", "Kirch", "Klein", "Lauter", "Mühl", "Neu", "Nieder", "Ober", "Rosen", "Schön", "Stein", "Unter", "Wald", "Weiden"),
        ("au", "bach", "berg", "brunn", "burg", "dorf", "feld", "hausen", "heim", "hof", "ingen", "kirchen", "rode", "stadt", "stein", "tal", "walde"),
    ),
    "fr": (
        ("Beau", "Belle", "Bois", "Château", "Clair", "Fontaine", "Grand", "Haute", "Mont", "Neuf", "Pont", "Roche", "Saint-", "Val", "Ville", "Vieux"),
        ("bourg", "champ", "court", "fort", "lac", "lieu", "mare", "mont", "neuve", "rive", "roy", "val", "vert", "ville"),
    ),
    "es": (
        ("Alta", "Arroyo", "Bella", "Buena", "Campo", "Casa", "Fuente", "Monte", "Peña", "Puerto", "Rio", "Sierra", "Torre", "Valde", "Villa", "Vista"),
        ("alegre", "blanca", "clara", "del Mar", "flores", "franca", "hermosa", "luz", "mayor", "nueva", "real", "rubio", "seca", "verde", "viejo"),
    ),
}  # fmt: skip
STATES: Texts = (
    "AL", "AR", "AZ", "CA", "CA", "CA", "CO", "CT", "FL", "FL", "GA", "HI", "IL", "IN", "KY", "LA", "MA", "MD", "MI", "MN", "MO", "NC", "NJ", "NM", "NV", "NY", "NY", "OH",
    "OK", "OR", "PA", "SC", "TN", "TX", "TX", "UT", "VA", "VT", "WA", "WI", "California", "Texas", "New York", "Florida",
)  # fmt: skip
SURNAMES: Texts = (
    "Abbott", "Alvarez", "Becker", "Bennett", "Carter", "Chen", "Costa", "Dalton", "Delgado", "Durand", "Ellis", "Ferrari", "Fischer", "Garner", "Gupta", "Hassan", "Hoffman",
    "Ito", "Jensen", "Keller", "Kim", "Lambert", "Lopez", "Marino", "Meyer", "Moreau", "Nguyen", "Novak", "Okafor", "Palmer", "Patel", "Quinn", "Ramirez", "Rossi", "Sanders",
    "Schmidt", "Singh", "Tanaka", "Torres", "Vance", "Walsh", "Weber", "Wong", "Young", "Zimmer",
)  # fmt: skip
_ADJECTIVES: Texts = (
    "Black", "Blue", "Bright", "Copper", "Crooked", "Daily", "Dancing", "Fat", "First", "Frosty", "Golden", "Grand", "Happy", "Honest", "Hungry", "Iron", "Laughing", "Little",
    "Loose", "Lucky", "Magic", "Modern", "New", "Old", "Purple", "Quiet", "Rolling", "Rustic", "Salty", "Smoky", "Spicy", "Sweet", "Tasty", "Tiny", "True", "Twisted", "Urban", "Wild",
)  # fmt: skip
_NOUNS: Texts = (
    "Anchor", "Apple", "Barrel", "Basil", "Bear", "Bell", "Bird", "Bowl", "Butcher", "Cactus", "Cow", "Crab", "Crow", "Dragon", "Elephant", "Fig", "Fork", "Fox", "Garden", "Goat",
    "Hen", "Horse", "Kettle", "Lantern", "Lemon", "Lion", "Lobster", "Moon", "Mushroom", "Olive", "Owl", "Oyster", "Panda", "Pepper", "Pig", "Plum", "Rabbit", "Rooster", "Rose",
    "Ship", "Spoon", "Star", "Table", "Thistle", "Tiger", "Tomato", "Tree", "Turtle", "Whale", "Wheel",
)  # fmt: skip
_SYLLABLES: Texts = (
    "ba", "bel", "bri", "ca", "chi", "co", "da", "del", "do", "el", "fa", "fi", "go", "ha", "ho", "ja", "ka", "ki", "la", "lo", "ma", "mar", "mi", "mo", "na", "ni", "no", "pa", "po",
    "qui", "ra", "ri", "ro", "sa", "shi", "so", "ta", "ti", "to", "tra", "va", "vi", "wa", "xa", "ya", "yo", "za", "zu",
)  # fmt: skip
_ENDINGS: Texts = ("", "", "", "n", "s", "x", "ro", "lo", "ra", "ta", "co", "mart", "via")

Pick = Callable[[Texts], str]


def town(pick: Pick, language: str) -> str:
    """Return the name of a town."""
    first, second = TOWNS[language]
    return pick(first) + pick(second)


def brand(pick: Pick) -> str:
    """Return a coined word."""
    count = int(pick(("1", "2", "2", "2", "3")))
    return ("".join(pick(_SYLLABLES) for _ in range(count + 1)) + pick(_ENDINGS)).capitalize()


def merchant_name(pick: Pick, language: str, trades: Texts) -> str:
    """Return the name of a shop: after a person, a place, an animal, what it sells or nothing at all."""
    trade, surname = pick(trades), pick(SURNAMES)
    patterns = (
        f"{pick(FIRST_WORDS)} {trade}",
        f"{pick(FIRST_WORDS)} {trade}",
        f"{pick(_ADJECTIVES)} {pick(_NOUNS)} {trade}",
        f"The {pick(_ADJECTIVES)} {pick(_NOUNS)}",
        f"{pick(_NOUNS)} & {pick(_NOUNS)}",
        f"{surname}'s {trade}",
        f"{surname}'s",
        f"{surname} & {pick(SURNAMES)}",
        f"{surname} Bros. {trade}",
        f"{trade} {surname}",
        f"{town(pick, language)} {trade}",
        f"{trade} {town(pick, language)}",
        f"{brand(pick)} {trade}",
        f"{brand(pick)} {brand(pick)}",
        f"{trade} {brand(pick)}",
        f"The {trade} at {town(pick, language)}",
        brand(pick),
        brand(pick),
    )
    return pick(patterns)
