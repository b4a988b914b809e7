"""Shorthand of chats: written quickly, read in full."""

from svc.text.normalise.rules import Rule, any_of

# Words with letters left out, in any case.
CONTRACTED = {
    "2day": "today", "2moro": "tomorrow", "2morrow": "tomorrow", "2nite": "tonight", "abt": "about", "b4": "before",
    "bday": "birthday", "cuz": "because", "gr8": "great", "h8": "hate", "l8": "late", "l8r": "later", "m8": "mate",
    "mins": "minutes", "msg": "message", "msgs": "messages", "pls": "please", "plz": "please", "ppl": "people",
    "rgds": "regards", "sry": "sorry", "str8": "straight", "thnx": "thanks", "thx": "thanks", "tks": "thanks",
    "tmrw": "tomorrow", "tmw": "tomorrow", "tnx": "thanks", "txt": "text", "w8": "wait", "yest": "yesterday",
}  # fmt: skip

# Initials of phrases. In capitals they are spelt, as the writer meant them or not: RN may be a nurse.
PHRASES = {
    "afaik": "as far as I know", "afk": "away from keyboard", "brb": "be right back", "btw": "by the way",
    "eod": "end of day", "fwiw": "for what it's worth", "fyi": "for your information", "g2g": "got to go",
    "gtg": "got to go", "hbu": "how about you", "hmu": "hit me up", "icymi": "in case you missed it",
    "idc": "I don't care", "idk": "I don't know", "iirc": "if I recall correctly", "ikr": "I know right",
    "ily": "I love you", "imho": "in my humble opinion", "imo": "in my opinion", "irl": "in real life",
    "lmk": "let me know", "ngl": "not gonna lie", "nvm": "never mind",
    "ofc": "of course", "omg": "oh my god", "omw": "on my way", "ooo": "out of office", "otw": "on the way",
    "rn": "right now", "smh": "shaking my head", "tbd": "to be determined", "tbh": "to be honest",
    "tldr": "too long, didn't read", "ttyl": "talk to you later", "tysm": "thank you so much",
    "tyvm": "thank you very much", "ur": "your", "wbu": "what about you", "wdym": "what do you mean",
    "wfh": "working from home",
}  # fmt: skip

# Only at the beginning, or after a mark: elsewhere they are names, as np is in programs.
REPLIES = {"jk": "just kidding", "np": "no problem", "ty": "thank you", "yw": "you're welcome"}

# A phone begins a message with a capital. Two letters with one are rather a name: Ty, Ur.
_PHRASES = PHRASES | {phrase.capitalize(): words for phrase, words in PHRASES.items() if len(phrase) > 2}

_START = r"(?<![^\W_])(?<![@#/'.\-_=])"
_END = r"(?![^\W_]|['./@_=-][^\W_]|[(=])"

RULES: tuple[Rule, ...] = (
    Rule(
        rf"{_START}(?P<word>(?i:{any_of(CONTRACTED)})){_END}",
        lambda match: CONTRACTED[match["word"].lower()],
    ),
    Rule(rf"(?:^|(?<=[,.!?][ ]))(?P<word>{any_of(REPLIES)}){_END}", lambda match: REPLIES[match["word"]]),
    Rule(rf"{_START}(?P<word>{any_of(_PHRASES)}){_END}", lambda match: _PHRASES[match["word"]]),
)
