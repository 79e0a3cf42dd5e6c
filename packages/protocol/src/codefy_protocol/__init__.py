"""What Codefy's control plane, agents and run children agree on, and nothing else."""

from codefy_protocol.version import PROTOCOL_VERSION, __version__

__all__ = ["PROTOCOL_VERSION", "__version__"]
