"""Kokoro-82M, the teacher: its weights, its voices and the training text that all networks share."""
