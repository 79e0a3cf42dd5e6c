"""Finding out what the engine here can run (X-8): a short child tells, since the agent itself imports no engine.

The hello does not wait for it. It is asked again when something was installed or removed in the engine's environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from codefy_agent.environment import child_environment
from codefy_protocol.discovery import Discovery
from codefy_protocol.frames import Catalog
from codefy_protocol.watched import modification_times

logger = logging.getLogger(__name__)

TIMEOUT_S = 300.0
"""A first import on a slow disk takes its time."""
RETRY_S = 60.0
WATCH_S = 20.0
MAX_BYTES = 8 << 20


class DiscoveryFailed(Exception):
    """The child did not tell; the message says why."""


async def discover(
    command: Sequence[str], inherited: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> Discovery:
    """Run the child and read its answer. It sees no card.

    Raises:
        DiscoveryFailed: it cannot be started, failed, or took too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=child_environment(inherited, ()),
            limit=MAX_BYTES,
        )
    except OSError as error:
        raise DiscoveryFailed(f"{command[0]}: {error.strerror}") from error
    try:
        async with asyncio.timeout(timeout_s):
            output, errors = await process.communicate()
    except TimeoutError:
        raise DiscoveryFailed(f"no answer within {timeout_s:.0f} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        raise DiscoveryFailed(last[0] if last else f"it ended with {process.returncode}")
    try:
        return msgspec.json.decode(output, type=Discovery)
    except msgspec.DecodeError as error:
        raise DiscoveryFailed(f"its answer cannot be read: {error}") from error


def catalog_frame(found: Discovery) -> Catalog:
    """What the control plane is told."""
    return Catalog(
        catalog_hash=found.catalog_hash,
        node_types=tuple(found.node_types),
        fingerprint=found.fingerprint,
        engine=found.engine,
        hashes={name: digest for name, digest in found.node_types.items() if digest},
    )


NO_ENGINE = Catalog(catalog_hash="", node_types=())
"""Of a worker without an engine: it connects, says so, and is offered nothing."""


async def keep_discovering(
    command: Sequence[str] | None, known: Callable[[Catalog], None], inherited: Mapping[str, str] = os.environ
) -> None:
    """Tell the catalog now and whenever it changed, for ever."""
    if command is None:
        known(NO_ENGINE)
        return
    told: Catalog | None = None
    while True:
        try:
            found = await discover(command, inherited)
        except DiscoveryFailed as error:
            logger.warning(
                "the node types of the engine are not known: %s; asking again in %.0f s", error, RETRY_S
            )
            await asyncio.sleep(RETRY_S)
            continue
        catalog = catalog_frame(found)
        if catalog != told:
            told = catalog
            logger.info("the engine %s has %d node types", found.engine, len(found.node_types))
            known(catalog)
        await _until_changed(found.watch)


async def _until_changed(watch: Mapping[str, int]) -> None:
    """Return when something was installed or removed. Nothing tells, so it is looked for."""
    while await asyncio.to_thread(modification_times, watch) == watch:
        await _pause()


async def _pause() -> None:
    await asyncio.sleep(WATCH_S)
