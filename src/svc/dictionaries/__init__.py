"""Pronunciation dictionaries: their rules and files, where they are kept, and their mirror in object storage."""
