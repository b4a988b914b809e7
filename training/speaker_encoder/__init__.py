"""The voice encoder: hears a clip of somebody and gives the parameters with which svc speaks like them."""
