"""From the caller's text to phonemes: markup, sentences, language detection, normalisation, pronunciation."""
