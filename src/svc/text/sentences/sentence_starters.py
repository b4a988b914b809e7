"""Words that often begin a sentence and seldom a name."""

SENTENCE_STARTERS = frozenset({
    "a", "after", "all", "also", "although", "an", "and", "are", "as", "at", "because", "before", "but", "by",
    "can", "could", "did", "do", "does", "during", "each", "even", "every", "everyone", "finally", "first",
    "for", "from", "had", "has", "have", "he", "her", "here", "his", "how", "however", "i", "if", "in",
    "instead", "is", "it", "its", "just", "last", "later", "let", "many", "maybe", "meanwhile", "more",
    "most", "my", "nobody", "not", "nothing", "now", "of", "on", "once", "one", "only", "or", "other", "our",
    "perhaps", "please", "she", "should", "since", "so", "some", "soon", "still", "such", "thank", "thanks",
    "that", "the", "their", "then", "there", "therefore", "these", "they", "this", "those", "though", "thus",
    "to", "today", "tomorrow", "tonight", "until", "was", "we", "well", "were", "what", "when", "where",
    "which", "while", "who", "why", "will", "with", "would", "yes", "yesterday", "yet", "you", "your", "al",
    "como", "cuando", "después", "el", "ella", "ellos", "en", "entonces", "es", "esta", "este", "hay", "la",
    "las", "los", "no", "pero", "por", "se", "si", "su", "un", "una", "y", "yo", "il", "elle", "ils", "le",
    "les", "nous", "vous", "je", "ce", "cette", "dans", "mais", "puis", "lo", "gli", "ma", "per", "poi",
    "questo", "o", "os", "ele", "ela", "eles", "mas", "não", "isso",
})  # fmt: skip
