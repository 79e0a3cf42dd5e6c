"""Queues, slots and placement as a pure core: facts in, decisions out."""
