"""Benchmarks of svc: see README.md beside this file."""
