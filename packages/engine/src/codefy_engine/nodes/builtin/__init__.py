"""Nodes that come with Codefy: one module per category."""
