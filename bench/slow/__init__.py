"""Benchmarks that need the environments of setup.sh, recordings of people or an hour."""
