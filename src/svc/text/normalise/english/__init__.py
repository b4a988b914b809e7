"""How English is read, one noun a file."""
