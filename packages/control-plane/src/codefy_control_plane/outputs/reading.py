"""Reading what runs in the server keep of their outputs. The work is done in threads: values may be large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from codefy_control_plane.api.schemas import OutputAbout, OutputGradient, OutputList
from codefy_control_plane.runs.errors import Refused
from codefy_engine.execution.output_pictures import picture_facts, picture_png
from codefy_engine.execution.outputs import OutputSlice, OutputStatistics, OutputStore
from codefy_engine.execution.traces import Trace
from codefy_protocol import reasons
from codefy_protocol.reasons import reason

T = TypeVar("T")


class OutputReader:
    """Answers about one server's store. ``Refused`` says what is not kept, or cannot be shown that way."""

    def __init__(self, store: OutputStore) -> None:
        self.store = store

    def list_outputs(self, run_id: str) -> OutputList:
        """Everything that is kept of a run; nothing, when nothing is."""
        try:
            outputs, wiring = self.store.index(run_id), self.store.wiring(run_id)
            traces = self.store.traces(run_id)
        except KeyError:
            return OutputList(run_id=run_id, kept=False)
        return OutputList(
            run_id=run_id,
            kept=True,
            outputs=outputs,
            inputs=wiring.inputs,
            origins=wiring.outputs,
            traces=traces,
        )

    async def about(self, run_id: str, node_id: str, port: str) -> OutputAbout:
        """Facts and statistics of one output. Raises Refused (404)."""
        store = self.store

        def read() -> OutputAbout:
            statistics: OutputStatistics | None = None
            try:
                statistics = store.statistics(run_id, node_id, port)
            except TypeError:
                pass  # no numbers
            return OutputAbout(
                run_id=run_id,
                output=store.about(run_id, node_id, port),
                statistics=statistics,
                picture=picture_facts(store.value(run_id, node_id, port)),
            )

        return await self._read(read, run_id, node_id, port)

    async def values(
        self,
        run_id: str,
        node_id: str,
        port: str,
        *,
        index: Sequence[int] = (),
        start: Sequence[int] = (),
        size: Sequence[int] = (),
    ) -> OutputSlice:
        """A part of a value. Raises Refused: 404, or 400 for an index outside of it."""

        def read() -> OutputSlice:
            return self.store.slice(run_id, node_id, port, index=index, start=start, size=size)

        return await self._read(read, run_id, node_id, port)

    async def picture(self, run_id: str, node_id: str, port: str, index: Sequence[int] = ()) -> bytes:
        """A value as PNG. Raises Refused: 404, also for what is no picture, or 400 for an index outside of it."""

        def read() -> bytes:
            value = self.store.value(run_id, node_id, port)
            try:
                return picture_png(value, index)
            except TypeError:
                why = reason(reasons.OUTPUT_NO_PICTURE, node_id=node_id, port=port)
                raise Refused(404, why) from None

        return await self._read(read, run_id, node_id, port)

    async def steps(
        self, run_id: str, node_id: str, name: str | None, first: int | None, last: int | None
    ) -> Trace:
        """The steps that a node told, of one layer or parameter or of all. Raises Refused (404)."""

        def read() -> Trace:
            names = None if name is None else (name,)
            return self.store.trace(run_id, node_id, names=names, first=first, last=last)

        return await self._read(read, run_id, node_id, "")

    async def gradient(
        self,
        run_id: str,
        node_id: str,
        parameter: str,
        *,
        index: Sequence[int] = (),
        start: Sequence[int] = (),
        size: Sequence[int] = (),
    ) -> OutputGradient:
        """The last gradient of a parameter. Raises Refused: 404, or 400 for an index outside of it."""
        store = self.store

        def read() -> OutputGradient:
            return OutputGradient(
                run_id=run_id,
                node_id=node_id,
                parameter=parameter,
                statistics=store.gradient_statistics(run_id, node_id, parameter),
                part=store.gradient(run_id, node_id, parameter, index=index, start=start, size=size),
            )

        return await self._read(read, run_id, node_id, parameter)

    async def _read(self, read: Callable[[], T], run_id: str, node_id: str, name: str) -> T:
        try:
            return await asyncio.to_thread(read)
        except KeyError:
            why = (
                reason(reasons.OUTPUT_NOT_KEPT, run_id=run_id, node_id=node_id, port=name)
                if name
                else reason(reasons.STEPS_NOT_KEPT, run_id=run_id, node_id=node_id)
            )
            raise Refused(404, why) from None
        except IndexError as error:
            raise Refused(400, reason(reasons.INVALID_QUERY, name="index", detail=str(error))) from None
