"""Errors of the HTTP API: one exception, one ``application/problem+json`` body with ``code`` and ``params``."""

from __future__ import annotations

import http
from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from codefy_control_plane.api.schemas import Problem
from codefy_engine.graph.problems import GraphProblem
from codefy_protocol.reasons import Reason, reason

MEDIA_TYPE = "application/problem+json"

_encoder = msgspec.json.Encoder()


class ApiError(Exception):
    """Answered as a problem. ``headers`` are added to the answer."""

    def __init__(
        self,
        status: int,
        why: Reason,
        problems: list[GraphProblem] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(why.message)
        self.status = status
        self.reason = why
        self.problems = problems
        self.headers = headers


def api_error(status: int, code: str, /, **params: object) -> ApiError:
    """An :class:`ApiError` from a registered code and the parameters of its sentence."""
    return ApiError(status, reason(code, **params))


def problem_of(
    status: int,
    why: Reason,
    problems: list[GraphProblem] | None = None,
    current: msgspec.Struct | None = None,
) -> Problem:
    """The body for a reason."""
    return Problem(
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=why.message,
        code=why.code,
        params=why.params,
        problems=problems,
        current=msgspec.UNSET if current is None else msgspec.Raw(_encoder.encode(current)),
    )


def problem_response(
    status: int,
    why: Reason,
    problems: list[GraphProblem] | None = None,
    headers: Mapping[str, str] | None = None,
    current: msgspec.Struct | None = None,
) -> Response:
    """A complete answer for a reason."""
    return Response(
        _encoder.encode(problem_of(status, why, problems, current)),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers=dict(headers) if headers else None,
    )
