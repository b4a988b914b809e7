"""Web and mail addresses, file names, handles and hashtags."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from svc.text.normalise.rules import Rule, rule


@dataclass(frozen=True, slots=True)
class Signs:
    """What the signs in an address are called."""

    at: str
    dot: str
    slash: str
    hyphen: str
    underscore: str
    hashtag: str
    equals: str
    question: str
    ampersand: str
    colon: str
    spell: Callable[[str], str]

    def name(self, sign: str) -> str:
        return {
            "@": self.at, ".": self.dot, "/": self.slash, "-": self.hyphen, "_": self.underscore,
            "#": self.hashtag, "=": self.equals, "?": self.question, "&": self.ampersand, ":": self.colon,
        }.get(sign, "")  # fmt: skip


# Words of addresses that their letters do not give away: None is spelt.
LABELS = {
    "edu": None, "io": None, "ai": None, "us": None, "id": None, "exe": None, "api": None, "faq": None,
    "url": None, "gov": "gov", "txt": "text", "jpg": "JPEG", "yml": "yaml", "usr": "user", "etc": "etsy",
    "src": "source", "py": "pie", "co": "co", "me": "me",
}  # fmt: skip

TOP_LEVELS = (
    "com|org|net|gov|edu|mil|int|info|biz|io|ai|co|app|dev|me|tv|uk|us|eu|de|fr|es|it|jp|cn|in|br|mx|ca|au|nl|ch|be|at|"
    "ru|se|no|pl|pt|xyz|online|site|tech|cloud|gg|fm|ly|so|sh|to"
)
EXTENSIONS = (
    "txt|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|xml|html?|css|js|ts|tsx|jsx|py|rb|go|rs|java|cpp|hpp|cs|php|sh|"
    "bat|exe|dll|zip|tar|gz|rar|7z|jpe?g|png|gif|svg|webp|mp3|mp4|wav|ogg|flac|mov|avi|mkv|md|log|ini|cfg|conf|sql|db|"
    "iso|dmg|apk|onnx|bin|lock"
)

_PIECE = re.compile(r"\d+|[^\W\d_]+|[^\w\s]|_")
_VOWEL = re.compile(r"[aeiouyàâäáãéèêëíìîïóòôöõúùûüæœ]", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def rules(signs: Signs, whole: Callable[[str], str]) -> list[Rule]:
    """The rules, given how a language names the signs and how it reads a run of digits."""

    def word(piece: str) -> str:
        if piece.isdecimal():
            return whole(piece)
        if not piece[0].isalpha():
            return signs.name(piece)
        label = LABELS.get(piece.lower(), piece if sayable(piece) else None)
        return label or signs.spell(piece.upper())

    def sayable(piece: str) -> bool:
        return not piece.isascii() or (len(piece) > 2 and bool(_VOWEL.search(piece)))

    def spell(address: str) -> str:
        return " ".join(filter(None, (word(piece) for piece in _PIECE.findall(address))))

    def address(match: re.Match[str]) -> str:
        return spell(match["address"].rstrip("/"))

    def hashtag(match: re.Match[str]) -> str:
        return f"{signs.hashtag} {spell(_HUMP.sub(' ', match['tag'].replace('_', ' ')))}"

    def handle(match: re.Match[str]) -> str:
        return f"{signs.at} {spell(match['handle'])}"

    before = r"(?<![A-Za-z0-9_.@-])"
    path = r"[A-Za-z0-9/?#=&%+.,:;~!$@_-]{0,1000}(?<![.,;:!?])"
    domain = rf"(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}\.){{1,5}}(?:{TOP_LEVELS})(?![A-Za-z0-9_-])"
    return [
        rule(rf"\b(?:https?|ftp)://(?P<address>{path})", address),
        rule(r"\bmailto:", ""),
        rule(r"(?<![\w.+-])(?P<address>[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63})++)", address),
        rule(rf"{before}(?P<address>{domain}(?:[/?:]{path})?)", address),
        rule(rf"{before}(?P<address>[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,3}}\.(?:{EXTENSIONS}))(?!\w)", address),
        rule(r"(?<![\w/])(?P<address>~?(?:/[\w.-]{1,100}){2,20}/?)(?<!\.)", address),
        rule(r"(?<![\w#&])#(?P<tag>[^\W\d]\w{0,100})", hashtag),
        rule(r"(?<![\w@.])@(?P<handle>\w{1,50}(?:\.\w{1,50})*)", handle),
    ]
