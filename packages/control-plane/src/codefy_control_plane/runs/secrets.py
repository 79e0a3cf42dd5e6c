"""Secrets of submissions (X-5): they come beside the graph, are checked, and live in memory until their run ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from codefy_control_plane.runs.errors import Refused
from codefy_engine.execution.secrets import Redactor
from codefy_engine.graph.document import GraphDocument
from codefy_engine.graph.needs import graph_needs
from codefy_engine.graph.prepare import prepare_graph
from codefy_engine.graph.problems import GraphProblem
from codefy_engine.nodes.registry import Registry
from codefy_protocol import reasons
from codefy_protocol.reasons import reason
from codefy_protocol.redaction import MIN_CHARACTERS

MAX_NAME = 200
MAX_BYTES = 32 * 1024
"""Of all values of a run together: an assignment to a worker is one message."""

NO_SECRETS: Mapping[str, str] = {}


def check_secrets(
    document: GraphDocument, registry: Registry, given: Mapping[str, str], until_node: str | None = None
) -> tuple[str, ...]:
    """Check the values that came with a valid graph; returns the names that the run needs, in order.

    Raises:
        Refused: 400, for a value that is missing (naming node, parameter and secret), one that nothing refers to, or
            one that cannot be kept out of what is told.
    """
    uses = graph_needs(document, registry).secrets
    if uses and until_node is not None:
        needed = graph_needs(document, registry, until_node=until_node).secrets
    else:
        needed = uses
    if not uses and not given:
        return ()
    unknown = sorted(given.keys() - {use.name for use in uses})
    if unknown:
        raise Refused(400, reason(reasons.SECRETS_UNKNOWN, names=", ".join(unknown)))
    for name, value in given.items():
        _check_value(name, value)
    if sum(len(value.encode()) for value in given.values()) > MAX_BYTES:
        detail = f"all values together may have {MAX_BYTES} bytes"
        raise Refused(400, reason(reasons.SECRET_INVALID, secret=next(iter(given)), detail=detail))
    missing = [use for use in needed if use.name not in given]
    if missing:
        # Of a preset, people see the parameter that it exposes.
        origins = prepare_graph(document, registry).origins
        problems: list[GraphProblem] = []
        for use in missing:
            node_id, param = origins.get((use.node_id, use.param), (use.node_id, use.param))
            why = reason(reasons.SECRET_NOT_GIVEN, node_id=node_id, param=param, secret=use.name)
            problems.append(
                GraphProblem(message=why.message, code=why.code, node_id=node_id, params=why.params)
            )
        names = ", ".join(dict.fromkeys(use.name for use in missing))
        raise Refused(400, reason(reasons.SECRETS_NOT_GIVEN, names=names), problems)
    return tuple(dict.fromkeys(use.name for use in needed))


def _check_value(name: str, value: str) -> None:
    if not 0 < len(name) <= MAX_NAME:
        detail = f"its name has 1 to {MAX_NAME} characters"
        raise Refused(400, reason(reasons.SECRET_INVALID, secret=name[:MAX_NAME], detail=detail))
    if len(value.strip()) < MIN_CHARACTERS:
        detail = f"a value has at least {MIN_CHARACTERS} characters, or it could not be kept out of the log"
        raise Refused(400, reason(reasons.SECRET_INVALID, secret=name, detail=detail))


class SecretVault:
    """Values by run, in memory and nowhere else, from the submission to the end of the run.

    While it holds some, the server's own log is written without them.
    """

    def __init__(self) -> None:
        self._values: dict[str, Mapping[str, str]] = {}
        self._redactor = Redactor(NO_SECRETS)
        self._lock = threading.Lock()
        self._filter = _WithoutSecrets(self)
        self._handlers: list[logging.Handler] = []

    def __repr__(self) -> str:
        return f"SecretVault({len(self._values)} runs)"

    def put(self, run_id: str, values: Mapping[str, str]) -> None:
        """Keep the values of a run."""
        if values:
            with self._lock:
                self._values[run_id] = dict(values)
                self._changed()
            self._watch_log()

    def of(self, run_id: str) -> Mapping[str, str]:
        """The values of a run; nothing once it was dropped."""
        return self._values.get(run_id, NO_SECRETS)

    def drop(self, run_id: str) -> None:
        """Forget the values of a run."""
        with self._lock:
            if self._values.pop(run_id, None) is not None:
                self._changed()

    def close(self) -> None:
        """Forget everything, and leave the log alone."""
        with self._lock:
            self._values.clear()
            self._changed()
        for handler in self._handlers:
            handler.removeFilter(self._filter)
        self._handlers.clear()

    @property
    def redactor(self) -> Redactor:
        """Of all values that are kept."""
        return self._redactor

    def without(self, text: str) -> str:
        """A text without the values that are kept now."""
        return self._redactor.text(text)

    def _changed(self) -> None:
        # Two runs may have different values under one name.
        every = [item for values in self._values.values() for item in values.items()]
        self._redactor = Redactor(every)

    def _watch_log(self) -> None:
        # Handlers see the records of every logger; a program may have added some since.
        for handler in logging.getLogger().handlers:
            if handler not in self._handlers:
                handler.addFilter(self._filter)
                self._handlers.append(handler)


class _WithoutSecrets(logging.Filter):
    """Takes the vault's values out of log records: what a node logs, and tracebacks that hold one."""

    def __init__(self, vault: SecretVault) -> None:
        super().__init__()
        self._vault = vault

    def filter(self, record: logging.LogRecord) -> bool:
        redactor = self._vault.redactor
        if not redactor:
            return True
        try:
            message = record.getMessage()
        except Exception:  # the handler would show arguments that do not fit, on a stream of its own
            message = record.msg = f"{record.msg} (with arguments that do not fit)"
            record.args = None
        shown = redactor.text(message)
        if shown != message:
            record.msg, record.args = shown, None
        if record.exc_info:
            told = logging.Formatter().formatException(record.exc_info)
            cleaned = redactor.text(told)
            if cleaned != told:
                record.exc_info, record.exc_text = None, cleaned
        elif record.exc_text:
            record.exc_text = redactor.text(record.exc_text)
        if record.stack_info:
            record.stack_info = redactor.text(record.stack_info)
        return True
