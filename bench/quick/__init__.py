"""Benchmarks that need nothing but svc and take minutes."""
