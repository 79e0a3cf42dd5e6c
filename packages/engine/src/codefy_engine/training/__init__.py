"""The training loop, its metrics and its checkpoints."""
