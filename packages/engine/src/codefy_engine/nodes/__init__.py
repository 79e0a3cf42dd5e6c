"""Node definitions, the registry and the built-in catalog. The schema part imports no torch."""
