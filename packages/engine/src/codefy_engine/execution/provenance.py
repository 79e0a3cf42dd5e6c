"""Where each result of a run comes from (X-8): one record per node, told when the node ends."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping

import msgspec

from codefy_engine.execution.fingerprint import environment_fingerprint, fingerprint_digest
from codefy_engine.graph.plan import PlannedNode
from codefy_engine.nodes.registry import code_digest
from codefy_protocol.envelope import encode_body


class ProvenanceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How one node's result came about."""

    node_id: str
    type: str
    version: int
    code: str = ""
    """SHA-256 of the source of a third party's node."""
    params_hash: str
    """SHA-256 of the decoded parameters; a secret is in it by its name only."""
    inputs: dict[str, str] = {}
    """By port: the node and output it came from."""
    input_hashes: dict[str, str] = {}
    """By port: a digest of everything that decided the value; left out for one that chance decided."""
    seed: int | None = None
    device: str | None = None
    status: str = "succeeded"
    """``succeeded`` or ``reused``."""
    volatile: bool = False
    """Whether it depends on chance or a secret, so that another run may give another result."""
    ended_at: float = 0.0
    """Unix seconds."""
    duration_s: float = 0.0


def params_hash(params: Mapping[str, object]) -> str:
    """SHA-256 of decoded parameters."""
    encoded = msgspec.json.encode(dict(params), order="deterministic", enc_hook=repr)
    return hashlib.sha256(encoded).hexdigest()


def record_of(
    planned: PlannedNode,
    inputs: Mapping[str, tuple[str, bytes | None]],
    status: str,
    duration_s: float,
    seed: int | None,
    *,
    volatile: bool,
) -> ProvenanceRecord:
    """The record of a node that ended now; ``inputs`` are source and key by port."""
    return ProvenanceRecord(
        node_id=planned.id,
        type=planned.type,
        version=planned.node_class.spec.definition.version,
        code=code_digest(planned.node_class),
        params_hash=params_hash(planned.params),
        inputs={port: source for port, (source, _) in inputs.items()},
        input_hashes={port: key.hex() for port, (_, key) in inputs.items() if key is not None},
        seed=seed,
        device=planned.device,
        status=status,
        volatile=volatile,
        ended_at=time.time(),
        duration_s=round(duration_s, 6),
    )


def fingerprint_facts(*, load_torch: bool) -> bytes:
    """Body of the ``run_facts`` record that tells of the environment as it is now, with its digest."""
    fingerprint = environment_fingerprint(load_torch=load_torch)
    return encode_body(
        {
            "fingerprint": msgspec.to_builtins(fingerprint),
            "fingerprint_digest": fingerprint_digest(fingerprint),
        }
    )


def provenance_facts(record: ProvenanceRecord) -> bytes:
    """Body of the ``run_facts`` record of one node."""
    return encode_body({"provenance": [record]})
