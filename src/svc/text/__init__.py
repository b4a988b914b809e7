"""From the caller's text to phonemes: markup, sentences, normalisation, language, pronunciation."""
