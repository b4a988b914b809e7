"""How the service grows: with cores, GPUs and machines."""
