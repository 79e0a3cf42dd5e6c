"""The SQLite file: one writer thread, pooled readers, one module per family of tables."""
