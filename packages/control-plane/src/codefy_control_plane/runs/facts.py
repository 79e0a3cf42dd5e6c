"""What a run tells of itself: the environment that computes it, and where each result comes from (X-8)."""

from __future__ import annotations

from typing import Any

import msgspec

from codefy_control_plane.storage.facts import NewProvenance
from codefy_engine.execution.fingerprint import Fingerprint, fingerprint_digest
from codefy_engine.execution.provenance import ProvenanceRecord
from codefy_protocol.envelope import encode_body

FACTS_OF_THE_SERVER = frozenset(("worker_resume", "late_result"))
"""What nobody else may write into a run's ``execution_facts``."""
SERVER = "server"
WORKER_RUN = "worker-run"
MAX_BYTES = 64 * 1024
"""Of a fingerprint, or of one record."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class RunFacts:
    """Sorts the bodies of ``run_facts`` records.

    Args:
        source: who computes the attempt: ``server`` or ``worker-run``.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self.facts: dict[str, Any] = {}
        """For ``execution_facts``."""
        self.fingerprint: tuple[str, bytes] | None = None
        """Digest and JSON."""
        self.provenance: list[NewProvenance] = []

    def take(self, body: bytes) -> None:
        """Take in one body. The digest is worked out here: what the sender says it is does not count.

        Raises:
            ValueError: it is no object, or its fingerprint or records are none.
        """
        told = _decode(body)
        fingerprint, records = told.pop("fingerprint", None), told.pop("provenance", [])
        told.pop("fingerprint_digest", None)
        if fingerprint is not None:
            digest = fingerprint_digest(msgspec.convert(fingerprint, Fingerprint))
            self.fingerprint = (digest, _bounded("the fingerprint", fingerprint))
            self.facts |= {"fingerprint_digest": digest, "fingerprint_source": self._source}
        for record in msgspec.convert(records, list[ProvenanceRecord]):
            self.provenance.append((record.node_id, _bounded(f"the record of {record.node_id}", record)))
        self.facts |= {key: value for key, value in told.items() if key not in FACTS_OF_THE_SERVER}


def _bounded(what: str, value: object) -> bytes:
    encoded = encode_body(value)
    if len(encoded) > MAX_BYTES:
        raise ValueError(f"{what} has {len(encoded)} bytes; at most {MAX_BYTES} are kept")
    return encoded
