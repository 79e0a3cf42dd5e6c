"""The run child: one graph in a process of its own, talking over the pipe it was started with."""
