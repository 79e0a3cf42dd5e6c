"""Executing one graph: context, callbacks, event builders, sinks, executor."""
