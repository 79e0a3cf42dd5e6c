"""Torch modules and functions behind the layer, text and diffusion nodes; none of them knows of nodes or runs."""
