"""The user's files: ``<data dir>/files``, browsed and filled over HTTP, read and written by nodes."""
