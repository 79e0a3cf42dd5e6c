"""Codefy's engine: validates and executes one graph of PyTorch nodes. Importing this package imports no torch."""

import os

__version__ = "0.1.0"

# OpenMP's threads spin while they wait for each other. With a second training on the same cores they spin against one
# another, and both become tens of times slower; asleep they cost a few microseconds. Read when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
