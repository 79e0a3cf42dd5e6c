"""Ratios against a floor or a peer, measured in the same run: ``make bench``, ``make bench-check``."""
