"""The acoustic networks of svc-turbo 2: from phonemes and a voice to samples."""
