"""How good and how fast svc is: see README.md beside this file."""
