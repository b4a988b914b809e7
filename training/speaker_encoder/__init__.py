"""The voice encoder: predicts the parameters of a cloned voice from a recording."""
