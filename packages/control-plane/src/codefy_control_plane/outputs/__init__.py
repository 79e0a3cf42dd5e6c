"""Captured outputs of runs, for the inspector (O-1 to O-3)."""
