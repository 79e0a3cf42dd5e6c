"""Runs: submission, queue, execution, records, and the feed that watchers read."""
