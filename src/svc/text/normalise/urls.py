"""URLs, e-mail addresses, file names and paths, handles and hashtags."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from svc.text.normalise.rules import Rule


@dataclass(frozen=True, slots=True)
class SignNames:
    """What a language calls the signs in an address; `spell` spells letters."""

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
    plus: str = ""

    def find(self, sign: str) -> str:
        return {
            "@": self.at, ".": self.dot, "/": self.slash, "-": self.hyphen, "_": self.underscore,
            "#": self.hashtag, "=": self.equals, "?": self.question, "&": self.ampersand, ":": self.colon,
            "+": self.plus,
        }.get(sign, "")  # fmt: skip


# Short words; other parts of one or two letters are spelt.
WORDS = frozenset({
    "an", "as", "at", "be", "by", "do", "go", "he", "hi", "if", "in", "is", "it", "me", "my", "no", "of", "on", "or",
    "so", "to", "up", "we",
})  # fmt: skip

# Parts of addresses with an irregular spoken form; None is spelt letter by letter.
LABELS = {
    "edu": None, "io": None, "ai": None, "us": None, "id": None, "exe": None, "api": None, "faq": None,
    "url": None, "gov": "gov", "txt": "text", "jpg": "JPEG", "yml": "yaml", "usr": "user", "etc": "etsy",
    "src": "source", "py": "pie", "co": "co", "docx": None, "bashrc": "bash RC", "zshrc": "ZSH RC",
    "vimrc": "vim RC", "npmrc": "NPM RC",
}  # fmt: skip

TOP_LEVELS = (
    "com|org|net|gov|edu|mil|int|info|biz|io|ai|co|app|dev|me|tv|uk|us|eu|de|fr|es|it|jp|cn|in|br|mx|ca|au|nl|ch|be|at|"
    "ru|se|no|pl|pt|xyz|online|site|tech|cloud|gg|fm|ly|so|sh|to"
)
EXTENSIONS = (
    "txt|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|xml|html?|css|js|ts|tsx|jsx|py|rb|go|rs|java|cpp|hpp|cs|php|sh|"
    "bat|exe|dll|zip|tar|gz|rar|7z|jpe?g|png|gif|svg|webp|mp3|mp4|wav|ogg|flac|mov|avi|mkv|md|log|ini|cfg|conf|sql|db|"
    "iso|dmg|apk|onnx|bin|lock|ipynb|env|h|c|JPE?G|PNG|GIF|HEIC|PDF|MP[34]|MOV|CSV|TXT|DOCX?|XLSX?|ZIP"
)
# Files whose name is nothing but an extension.
DOT_FILES = "gitignore|bashrc|zshrc|npmrc|vimrc|dockerignore|gitconfig|profile"

_PART = re.compile(r"\d+|[^\W\d_]+|[^\w\s]|_")
_VOWEL = re.compile(r"[aeiouyàâäáãéèêëíìîïóòôöõúùûüæœ]", re.IGNORECASE)
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def build_rules(signs: SignNames, say_integer: Callable[[str], str]) -> list[Rule]:
    """The rules, given the names of the signs and the number words of a language."""

    def say_part(part: str) -> str:
        if part.isdecimal():
            return say_integer(part)
        if not part[0].isalpha():
            return signs.find(part)
        label = LABELS.get(part.lower(), part if is_pronounceable(part) else None)
        return label or signs.spell(part.upper())

    def is_pronounceable(part: str) -> bool:
        return not part.isascii() or part.lower() in WORDS or (len(part) > 2 and bool(_VOWEL.search(part)))

    def say_parts(address: str) -> str:
        return " ".join(filter(None, (say_part(part) for part in _PART.findall(address))))

    def say_address(match: re.Match[str]) -> str:
        return say_parts(match["address"].rstrip("/"))

    def say_hashtag(match: re.Match[str]) -> str:
        return f"{signs.hashtag} {say_parts(_CAMEL_CASE.sub(' ', match['tag'].replace('_', ' ')))}"

    def say_community(match: re.Match[str]) -> str:
        return say_parts(_CAMEL_CASE.sub(" ", match["address"]))

    def say_handle(match: re.Match[str]) -> str:
        return f"{signs.at} {say_parts(match['handle'])}"

    before = r"(?<![A-Za-z0-9_.@-])"
    path = r"[A-Za-z0-9/?#=&%+.,:;~!$@_-]{0,1000}(?<![.,;:!?])"
    domain = rf"(?:[A-Za-z0-9][A-Za-z0-9-]{{0,62}}\.){{1,5}}(?:{TOP_LEVELS})(?![A-Za-z0-9_-])"
    return [
        Rule(rf"\b(?:https?|ftp)://(?P<address>{path})", say_address),
        Rule(r"\bmailto:", ""),
        Rule(
            r"(?<![\w.+-])(?P<address>[\w.+-]{1,64}+@(?!\d+(?:\.\d+)*(?![\w.-]))[\w-]{1,63}+(?:\.[\w-]{1,63})++)",
            say_address,
        ),
        Rule(rf"{before}(?P<address>{domain}(?:[/?:]{path})?)", say_address),
        Rule(rf"{before}(?P<address>[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,3}}\.(?:{EXTENSIONS}))(?!\w)", say_address),
        Rule(rf"(?<![\w./])(?P<address>\.(?:{EXTENSIONS}|{DOT_FILES}))(?!\w)", say_address),
        Rule(r"(?<![\w/])(?P<address>~?(?:/[\w.-]{1,100}){2,20}/?)(?<!\.)", say_address),
        Rule(r"(?<![\w/])(?P<address>~(?:/[\w.-]{1,100}){1,20}/?)(?<!\.)", say_address),
        Rule(r"(?<![\w/@.])(?P<address>[ru]/[A-Za-z]\w{2,40})(?![\w/])", say_community),
        Rule(r"(?<![\w#&])#(?P<tag>(?:\d{1,4}(?=[^\W\d_]{3}))?[^\W\d]\w{0,100})", say_hashtag),
        Rule(r"(?<![\w@.])@(?P<handle>\w{1,50}(?:\.\w{1,50})*)", say_handle),
    ]
