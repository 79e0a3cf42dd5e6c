"""The graph document, its validation, expansion and plan. Imports no torch."""
