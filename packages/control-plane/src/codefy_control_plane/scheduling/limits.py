"""How many runs a slot holds (S-3)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from codefy_control_plane.scheduling.model import Slot
from codefy_protocol.names import LOCAL


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of slots: by kind of device, with overrides of single slots."""

    cpu: int = 2
    accelerator: int = 1
    overrides: Mapping[str, int] = {}
    """``cuda:0`` is the server's own device, ``gpu-box-1/cuda:0`` that worker's."""

    def override(self, slot: Slot) -> int | None:
        """The limit set for this very ``(worker_id, device)``, at least 1, or ``None``."""
        worker_id, device = slot
        found = self.overrides.get(device if worker_id == LOCAL else f"{worker_id}/{device}")
        return None if found is None else max(1, found)

    def of(self, slot: Slot) -> int:
        """The limit of ``(worker_id, device)`` on its own, at least 1."""
        found = self.override(slot)
        if found is not None:
            return found
        return max(1, self.cpu if slot[1] == "cpu" else self.accelerator)
