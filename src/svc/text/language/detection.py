"""Detects the language of a text by its script, its short frequent words and its telling letters, then by n-grams."""

import re
from collections import Counter
from functools import lru_cache

from svc.text.language.languages import Language, Script, find_script
from svc.text.language.ngrams import load_classifier

# Scripts that one of the languages is written in. Words have about four letters, Korean ones three.
_TELLING_SCRIPTS = {
    Script.DEVANAGARI: Language.HINDI,
    Script.HANGUL: Language.KOREAN,
    Script.GREEK: Language.GREEK,
    Script.ARABIC: Language.ARABIC,
    Script.TAMIL: Language.TAMIL,
}
_WORD_LENGTHS = {Script.HANGUL: 3}


@lru_cache(maxsize=64)  # the frontend asks for every sentence, and so does a header of the response for the first one
def detect_language(text: str, base: Language) -> Language:
    """The language to speak `text` in: `base`, unless the text is clearly in another."""
    counts = dict.fromkeys(Script, 0)
    for character, count in Counter(text).items():
        counts[find_script(character)] += count
    # Roughly how many words there are in each script: a Han character is most of a word.
    words = {script: counts[script] / _WORD_LENGTHS.get(script, 4) for script in (*_TELLING_SCRIPTS, Script.CYRILLIC)}
    words[Script.HAN] = counts[Script.HAN] / 1.5 + counts[Script.KANA] / 3
    words[Script.LATIN] = len(_LATIN_WORD.findall(text)) if counts[Script.LATIN] else 0
    script = max(words, key=lambda each: words[each])
    if words[script] == 0:
        return base
    if script in _TELLING_SCRIPTS:
        return _TELLING_SCRIPTS[script]
    if script is Script.HAN:
        return _detect_east_asian(text, counts[Script.KANA], base)
    return _detect_cyrillic(text, base) if script is Script.CYRILLIC else _detect_latin(text, base)


# Common characters that only one of the two languages uses: simplified forms and function words of Chinese;
# simplified forms of Japan and characters created there.
_ONLY_CHINESE = frozenset("你您她们这吗呢么啊很对说话请谢让给还从为东车马鸟鱼门问间时见觉习汉语书买电脑饭两进远边哪")
_ONLY_JAPANESE = frozenset("々込働畑峠辻枠匂円売駅図気広沢実総権県検験発変帰応戦歳労囲払択渋縄桜悪栄営価仮")


def _detect_east_asian(text: str, kana: int, base: Language) -> Language:
    characters = set(text)
    chinese = len(characters & _ONLY_CHINESE)
    japanese = len(characters & _ONLY_JAPANESE)
    if kana and not chinese:
        return Language.JAPANESE
    if chinese and not japanese:
        return Language.MANDARIN
    if japanese and not chinese:
        return Language.JAPANESE
    return base if base in (Language.JAPANESE, Language.MANDARIN) else Language.MANDARIN


# Letters that one of these languages uses and the others do not; Russian has ъ, but with ы and э elsewhere in a text.
_CYRILLIC_LETTERS = {Language.UKRAINIAN: "іїєґ", Language.RUSSIAN: "ыэё", Language.BULGARIAN: "ъ"}


def _detect_cyrillic(text: str, base: Language) -> Language:
    for language, letters in _CYRILLIC_LETTERS.items():
        if any(letter in text.lower() for letter in letters):
            return language
    if base.script is not Script.CYRILLIC:
        base = Language.RUSSIAN
    if len(text.split()) < _MIN_WORDS:
        return base
    found, doubt = _classify(text, Script.CYRILLIC, base)
    return found if doubt <= _MOST_SLAVIC_DOUBT else base


_LATIN_WORD = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]+['’]?")
# Letters that one of these languages uses and the others do not.
_TELLING_LETTERS = {"es": "ñ", "fr": "œûëîê", "it": "ìò", "pt": "ãõ"}
_INVERTED_MARKS = frozenset("¿¡")
_NUMBERED = re.compile(r"\b[Nn]o\. ?\d+")  # "no. 14" is not the Spanish or Italian word
# A shorter text may be a name or a loan ("Déjà vu!", "Los Angeles"): it stays in the voice's language.
_MIN_WORDS = 3
# The score that shows the voice's language, or another, in words and as a share of all words.
_MIN_SCORE = 1.3
_MIN_SHARE = 0.25
# How probable the voice's language may be when another is chosen, as a share of how probable that one is.
_MOST_DOUBT = 0.1
_MOST_SLAVIC_DOUBT = 0.67  # nobody mixes these as often as English words are mixed in
# How probable the other must be among all.
_LEAST_SHARE = 0.3


def _detect_latin(text: str, base: Language) -> Language:
    if not base.latin:
        base = Language.ENGLISH_US
    if _INVERTED_MARKS.intersection(text):
        return Language.SPANISH
    words = _leave_out_names(
        [match.group().replace("’", "'") for match in _LATIN_WORD.finditer(_NUMBERED.sub("", text))]
    )
    if len(words) < _MIN_WORDS:
        return base
    scores = _score(words, text)
    own = scores.pop(base.code, 0.0)
    best = max(scores, key=lambda code: scores[code])
    threshold = max(_MIN_SCORE, _MIN_SHARE * len(words))
    if own >= threshold and own >= scores[best]:
        return base
    found, doubt = _classify(" ".join(words).replace("' ", "'"), Script.LATIN, base)
    if doubt <= _MOST_DOUBT and own < threshold:
        return found
    # In short texts frequent words may tell more than letters do.
    return Language.parse(best) or base if scores[best] >= threshold and scores[best] > 2 * own else base


def _leave_out_names(words: list[str]) -> list[str]:
    """In small letters, without capitalised words inside a sentence ("the San José sharks") and what joins them."""
    names = [at > 0 and word[0].isupper() and word not in ("I", "I'") for at, word in enumerate(words)]
    joined = [
        before and after and len(word) <= 3
        for before, word, after in zip([False, *names], words, [*names[1:], False], strict=False)
    ]
    return [word.lower() for word, *left_out in zip(words, names, joined, strict=True) if not any(left_out)]


def _classify(text: str, script: Script, base: Language) -> tuple[Language, float]:
    """The most probable of the languages that are written in this script, and how probable `base` is beside it."""
    shares = load_classifier().rank(text, base)
    same_script = {language: share for language, share in shares.items() if language.script is script}
    found = max(same_script, key=lambda language: same_script[language])
    if same_script[found] < _LEAST_SHARE * sum(same_script.values()):
        return found, 1.0
    return found, same_script.get(base, 0.0) / same_script[found]


def _score(words: list[str], text: str) -> dict[str, float]:
    """How many stopwords and telling letters of each language there are; a word that n languages share counts 1/n."""
    scores = dict.fromkeys(STOPWORDS, 0.0)
    for word in words:
        codes = _LANGUAGES_OF_STOPWORDS.get(word, ())
        for code in codes:
            scores[code] += 1 / len(codes)
    lower = text.lower()
    for code, letters in _TELLING_LETTERS.items():
        scores[code] += sum(letter in lower for letter in letters)
    return scores


# The short, frequent words of each language. The part of a word before an apostrophe keeps it: "c'", "don'".
_ENGLISH = """
a about after all also always am an and any are aren' as at back be because been before being but by
can can' cannot come could couldn' did didn' do does doesn' doing don' down each even every everyone few
find first for from get give go going good got great had has hasn' have haven' he he' hello help her here
him his how how' i i' if in into is isn' it it' its just keep know last let let' like little long look
made make many may me more most much must my need never new next no not nothing now of off on one only or
other our out over people please put really right said same say see she she' should so some something
still such take tell than thank thanks that that' the their them then there there' these they they' thing
things think this those through time to today together tomorrow tonight too two under until up us use very
want was wasn' way we we' well went were weren' what what' when where where' which while who why will with
without won' work would wouldn' year years yes yesterday yet you you' your
"""
_SPANISH = """
a ahora al algo algún alguna ante antes aquí así aunque ayer año años bien buena bueno buenas buenos cada
casa como cómo con cosa cosas creo cuál cuando cuándo cuatro cuánto cuántos de del desde después dice
dijo dinero donde dónde dos día días el él ella ellos en entonces entre era eran eres es esa ese eso esos
esta está estaba estamos están estar estas este esto estos estoy estás favor fue fueron gente gracias
gusta había hablar hace hacer haces hacia han hasta hay he hermano hermana hijo hizo hola hombre hoy iba ir
la las le les lo los luego llama llamo lugar me mejor menos mi mis mientras mismo mucha mucho muchas
muchos muy más mí nada nadie necesito ni niños no nombre nos nosotros nuestra nuestro nueva nuevo nunca o
otra otro otros para pero perdón poco podemos poder por porque puede pueden puedes puedo pues que
qué quien quién quiere quiero sea ser según será si sido siempre sin sobre solo son soy su sus sé sí
también tan tanto te tengo tenemos tiempo tiene tienen tienes toda todo todos trabajo trabajar tres tu tus
tú un una uno unos usted ustedes va vamos van ver vez vida voy y ya yo
"""
_FRENCH = """
a ai ainsi alors après au aujourd' aurait aussi autre autres aux avait avant avec avez avoir avons beaucoup
bien bon bonjour bonne bonsoir c' ce cela ces cet cette ceux chaque chez comme comment combien contre d'
dans de depuis des deux dire dit doit donc du déjà elle elles en encore entre es est et étaient était été
être eu eux faire fait faut femme fois font gens grand grande heure hier homme ici il ils j' je jour jours
jusqu' l' la le les leur leurs lui m' ma maintenant mais maison mal matin me merci mes mieux moi moins mon
monde monsieur même n' ne ni nom nos notre nous nouveau on ont ou où oui par parce parle parler pas
pendant peu peut peux plaît plus pour pourquoi pouvez prendre près puis qu' quand que quel quelle quelque
qui quoi rien s' sa sais sait sans se sera ses si sommes son sont sous soir suis sur t' ta te temps tes toi
ton toujours tous tout toute toutes train travail travaille très trop trouve trouver tu un une va vais vas
venir vers veut veux vie voilà voir vont vos votre voudrais vous vraiment vu y à ça
"""
_ITALIAN = """
a abbiamo ad adesso agli ai al all' alla alle allo altra altri altro anche ancora andare anni anno avere
aveva bella bello bene buona buongiorno buono c' casa che chi ci ciao cioè col come con cosa così
cui d' da dagli dai dal dall' dalla dalle davvero degli dei del dell' della delle dello deve devo di dice
dire disse domani dopo dov' dove due e ed ecco era erano essere fa fare fatto fra gente già gli giorni
giorno grande grazie ha hai hanno ho i ieri il in insieme io l' la lavoro le lei li lo loro lui ma mai me
meglio mentre mi mia mie miei mio molta molti molto momento mondo negli nei nel nell' nella nelle nessuno
niente noi nome non nostra nostro nulla nuovo o oggi ogni ora parla parlare parte per perché perciò però
piace più po' poco poi posso possono potrebbe prego prima proprio può qualche qualcosa quale quando quanto
quel quella quelle quelli quello quest' questa queste questi questo qui quindi sai sapere se sei sempre
senza si sia siamo sia sono solo sopra sta stai stato stata stati sto stiamo su sua sue sul sull' sulla
suo suoi tanto te tempo ti tra tre troppo tu tua tuo tutta tutte tutti tutto un un' una uno va vedere vero
vita voglio vogliamo voi volta vorrei vuoi vuole è
"""
_PORTUGUESE = """
a agora ai ainda algo alguém alguma além amanhã ano anos antes ao aos apenas aqui as assim até bem boa bom
cada casa coisa coisas com como da das de dela dele deles depois desde deve dia dias disse dizer do dois
dos e é ela elas ele eles em então entre era eram essa esse esta está estamos estão estar estava este estou
eu falar fala faz fazer fez foi fora foram gente grande há hoje homem hora isso isto já lá lhe lugar mais
mas me melhor menos mesmo meu meus minha minhas muita muito muitos mulher mundo na nada não nas nem nenhum
ninguém no noite nome nos nossa nosso nova novo nós num numa nunca o obrigada obrigado olá onde ontem os
ou outra outro outros para parece pela pelo pelos pessoas poder pode podem podemos pois por porque porquê
posso pouco precisa preciso primeiro pra quais qual quando quanto quase que quem quer quero sabe saber se
seja sem sempre senhor sendo ser será seu seus sim sobre somos sou sua suas só são também tanto te tem têm
temos tempo tenho ter tinha toda todas todo todos trabalho trabalhar três tu tudo um uma vai vamos vez
vezes vida você vocês vou à às
"""

STOPWORDS: dict[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
    "fr": frozenset(_FRENCH.split()),
    "it": frozenset(_ITALIAN.split()),
    "pt": frozenset(_PORTUGUESE.split()),
}
_LANGUAGES_OF_STOPWORDS = {
    word: [code for code, stopwords in STOPWORDS.items() if word in stopwords]
    for word in frozenset().union(*STOPWORDS.values())
}
