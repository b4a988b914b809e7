"""The guides of docs/, as pages that the service shows."""
