"""What a training step is made of: losses, their gradients, the optimizer. Several trainings share it."""
