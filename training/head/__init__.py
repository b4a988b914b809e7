"""The vocoder head of svc-turbo, distilled from Kokoro's generator."""
