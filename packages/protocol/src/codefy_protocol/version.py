"""The product version and the protocol version."""

__version__ = "0.1.0"

PROTOCOL_VERSION = 1
"""Rises only for a change that the other side would misread; features are capabilities instead."""
