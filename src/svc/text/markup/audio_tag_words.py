"""Words by which audio tags are told from ordinary brackets."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _inflect(verb: str) -> set[str]:
    """The base form, the third person and the participle."""
    stem = verb.removesuffix("e")
    third = verb[:-1] + "ies" if verb == "cry" else verb + ("es" if verb.endswith(("s", "sh", "ch")) else "s")
    return {verb, third, stem + stem[-1] + "ing", stem + "ing"}  # "sobbing", "laughing"


# Verbs whose base form, -s and -ing are tags. These are sounds and gestures:
_SOUNDS = _words(
    "applaud blush boo breathe burp cackle chuckle clap cough cry exhale frown gasp giggle grin groan growl grumble "
    "grunt guffaw gulp hiccup hiss howl hum hyperventilate inhale jeer laugh moan nod pant pout purr scoff shrug "
    "shudder shush sigh sing smile smirk snarl sneer sneeze snicker snigger sniff sniffle snore snort sob sputter "
    "squeal stammer stutter swallow tut wail weep wheeze whimper whine whistle wink yawn"
)
# And these are ways to speak:
_DELIVERIES = _words(
    "bellow cheer drawl exclaim hesitate mumble murmur mutter pause roar scream shout shriek whisper yell"
)
# Emotions, manners of speaking, and sounds.
STATES = _words(
    "afraid amazed amused angry animated annoyed anxious applause awe awkward beat bored breathless breathy calm "
    "cheerful confident confused curious deadpan defeated dejected delighted depressed desperate determined "
    "disappointed disgusted dramatic dreamy eager ecstatic elated embarrassed emotional energetic enthusiastic "
    "exasperated excited exhausted fast fearful flustered footsteps friendly frightened frustrated furious gentle "
    "giddy grave grieving gunshot happy hesitant hopeful horrified hushed hysterical impatient impressed intense "
    "intrigued ironic irritated jealous joyful laughter lively lonely loud melancholic mischievous mocking monotone "
    "music nervous neutral normal nostalgic outraged panicked panicking passionate pensive playful pleased proud quick "
    "quiet rapid reassuring reflective regretful relaxed relieved resigned robotic rushed sad sarcastic scared "
    "sceptical serene serious shocked silence sincere singsong skeptical sleepy slow slower soft solemn somber "
    "soothing sorrowful stern stunned surprised suspicious sympathetic tearful tender tense terrified "
    "thoughtful thrilled thunder tired triumphant upbeat upset urgent warm weary whispered wistful worried "
    "explosion clears clearing drawn"
)
# What a longer tag ends with.
VOICES = frozenset({"voice", "tone", "accent", "whisper", "breath", "laugh", "sigh", "chuckle", "giggle", "throat"})
DETERMINERS = _words("the a an his her its their my our your this that these those each every one no")
# Adverbs that editors insert into quotations.
SENTENCE_ADVERBS = _words(
    "actually allegedly apparently approximately certainly clearly completely currently daily directly early entirely "
    "especially essentially eventually exactly family finally formerly fully generally hardly highly immediately "
    "initially july italy largely lately likely literally locally mainly monthly mostly namely nearly newly obviously "
    "officially only originally partially partly personally possibly presumably previously primarily probably purely "
    "really recently relatively reportedly respectively roughly simply solely specifically strictly supposedly "
    "technically totally truly typically ultimately unlikely usually virtually weekly wholly yearly reply apply supply "
    "imply rely multiply assembly anomaly monopoly butterfly belly jelly bully rally tally folly holly lily ally "
    "elderly orderly costly friendly-fire publicly previously jointly similarly additionally"
)
FUNCTION_WORDS = DETERMINERS | _words(
    "he she it they we you i who which what when where why how and or but if of in on at to for from with by as is "
    "are was were be been has have had not yes than then there here more less all some any other such"
)
# After these, a word in brackets completes the sentence: "She was [upset] about it."
DEMANDING = DETERMINERS | _words(
    "am are be been being is was were feel feels felt seem seems seemed look looks looked get gets got very so too "
    "more most less quite rather of in on at to for from with by about and or as than"
)
# What may be the subject of the verb after it, besides names; and what begins a sentence with a capital, but is none.
SUBJECTS = _words("he she it who which that one everyone everybody someone somebody nobody this")
INTERJECTIONS = _words("Well Oh Ah Hmm Hm Um Uh Yes No Yeah Okay Ok So But And Hey Wow Ugh Huh Right Sure Aww Haha")
# What editors and web pages put into brackets.
EDITORIAL = _words(
    "sic citation cite needed emphasis added mine original omitted ellipsis redacted deleted removed edited edit ed "
    "editor translation translated trans note notes source sources ref refs see ibid op cit page pages chapter section "
    "figure table footnote optional required default draft todo wip fixme deprecated beta alpha link links image video "
    "photo picture click here insert name date time number address placeholder blank unknown unclear inaudible "
    "untitled spoiler update updated new old ad ads advertisement sponsored url email quote end start begin continued "
    "cont sentence example null none undefined true false error warning info debug int string object array index key "
    "value id file path company city country person place done pending open closed fixed solved resolved verse chorus "
    "bridge intro outro expletive crosstalk"
)
# Tags in other languages, with the English ones that they stand for; sounds have none.
OTHER_LANGUAGES: dict[str, str] = {
    # Spanish, Portuguese, Italian, French, German
    **dict.fromkeys(
        _words(
            "risas risa ríe riendo suspira suspirando suspiro solloza llora tose carraspea aplausos risos risada ri "
            "rindo suspirar chora tosse risate risata ridendo sospira sospiro piange tossisce applausi rires rire rit "
            "soupir soupire pleure tousse applaudissements lacht lachend lachen seufzt seufzend hustet räuspert weint "
            "applaus"
        ),
        "",
    ),
    **dict.fromkeys(
        _words("susurra susurrando susurro sussurra sussurrando chuchote chuchotant flüstert flüsternd"), "whisper"
    ),
    **dict.fromkeys(_words("grita gritando gritos urla urlando crie criant schreit rufend"), "shout"),
    **dict.fromkeys(
        _words(
            "emocionado emocionada animado animada entusiasmado eccitato eccitata excité excitée aufgeregt begeistert"
        ),
        "excited",
    ),
    **dict.fromkeys(_words("triste tristemente triste traurig"), "sad"),
    **dict.fromkeys(_words("lentamente lento despacio devagar lentement langsam"), "slow"),
    **dict.fromkeys(_words("rápido rápidamente depressa velocemente vite rapidement schnell"), "fast"),
    **dict.fromkeys(_words("pausa pausas pausieren stille silencio silêncio silenzio"), "pause"),
    # Japanese, Chinese, Hindi
    **dict.fromkeys(
        _words(
            "笑 笑い 笑う 苦笑 爆笑 ため息 溜息 咳 咳払い 泣く 拍手 笑声 大笑 轻笑 叹气 叹息 咳嗽 清嗓子 哭泣 鼓掌 "
            "हंसी हँसी हंसते हँसते आह ताली"
        ),
        "",
    ),
    **dict.fromkeys(_words("ささやく 囁く ささやき 小声 小声で 低语 耳语 轻声 悄声 फुसफुसाते फुसफुसाहट"), "whisper"),
    **dict.fromkeys(_words("叫ぶ 叫び 大声 大声で 大喊 喊叫 चिल्लाते"), "shout"),
    **dict.fromkeys(_words("興奮 興奮して 兴奋 激动 उत्साहित"), "excited"),
    **dict.fromkeys(_words("悲しい 悲しそうに 悲伤 难过 दुखी"), "sad"),
    **dict.fromkeys(_words("ゆっくり 缓慢 慢慢地 धीरे"), "slow"),
    **dict.fromkeys(_words("早口 早口で 快速 快 जल्दी"), "fast"),
    **dict.fromkeys(_words("間 沈黙 停顿 沉默 विराम"), "pause"),
}

SOUNDS = frozenset({"clears", "clearing"}).union(*(_inflect(verb) for verb in _SOUNDS))
ACTS = SOUNDS.union(*(_inflect(verb) for verb in _DELIVERIES))
KNOWN = STATES | ACTS
