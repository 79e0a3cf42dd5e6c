"""The control plane as one ASGI application: its routes as data, and the lifespan of its services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.routing import Route, Router, WebSocketRoute
from starlette.types import ASGIApp

from codefy_control_plane.access import Access, HostPolicy
from codefy_control_plane.api import about, files, graphs, nodes, outputs, presets, run_files, runs
from codefy_control_plane.api import workers as workers_api
from codefy_control_plane.api.context import Context
from codefy_control_plane.api.execution_socket import ExecutionSocket
from codefy_control_plane.api.middleware import WORKER_SOCKET_PATH, AnswerHeaders, BodyLimit, Errors, Guards
from codefy_control_plane.api.routing import ApiRoute, compile_routes
from codefy_control_plane.api.site import WEB_DIST, Site
from codefy_control_plane.drafts import DraftStore
from codefy_control_plane.examples import ExampleStore
from codefy_control_plane.files.store import FileStore
from codefy_control_plane.files.uploads import Uploads
from codefy_control_plane.graphs import GraphStore
from codefy_control_plane.presets import PresetStore
from codefy_control_plane.runs.service import RunService
from codefy_control_plane.settings import Settings
from codefy_control_plane.storage.database import Database
from codefy_control_plane.workers.inputs import INPUT_PATH, WorkerInputs
from codefy_control_plane.workers.registry import WorkerRegistry
from codefy_control_plane.workers.socket import WorkerSocket
from codefy_engine.nodes.cached import cached_registry
from codefy_engine.nodes.registry import Registry
from codefy_protocol.machine.identity import machine_id

API_ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("GET", "/api/health", about.health, public=True),
    ApiRoute("GET", "/openapi.json", about.openapi, produces="application/json"),
    ApiRoute("GET", "/api/nodes", nodes.list_nodes),
    ApiRoute("POST", "/api/nodes/reload", nodes.reload_nodes),
    ApiRoute("GET", "/api/nodes/{type}", nodes.show_node, errors=(404,)),
    ApiRoute("POST", "/api/graphs/validate", graphs.validate),
    ApiRoute("POST", "/api/graphs/shapes", graphs.shapes),
    ApiRoute("GET", "/api/graphs", graphs.list_graphs),
    ApiRoute("GET", "/api/graphs/{name}", graphs.show_graph, errors=(404,)),
    ApiRoute("PUT", "/api/graphs/{name}", graphs.save_graph, errors=(409,)),
    ApiRoute("DELETE", "/api/graphs/{name}", graphs.delete_graph, errors=(404,)),
    ApiRoute("POST", "/api/graphs/{name}/rename", graphs.rename_graph, errors=(404, 409)),
    ApiRoute("GET", "/api/graphs/{name}/draft", graphs.show_draft, errors=(404,)),
    ApiRoute("PUT", "/api/graphs/{name}/draft", graphs.save_draft, errors=(409, 413, 507)),
    ApiRoute("DELETE", "/api/graphs/{name}/draft", graphs.delete_draft, errors=(404, 409)),
    ApiRoute("GET", "/api/presets", presets.list_presets),
    ApiRoute("GET", "/api/presets/{name}", presets.show_preset, errors=(404,)),
    ApiRoute("PUT", "/api/presets/{name}", presets.save_preset, errors=(409,)),
    ApiRoute("DELETE", "/api/presets/{name}", presets.delete_preset, errors=(404,)),
    ApiRoute("GET", "/api/examples", graphs.list_examples),
    ApiRoute("GET", "/api/examples/{name}", graphs.show_example, errors=(404,)),
    ApiRoute("GET", "/api/files", files.list_files),
    ApiRoute(
        "GET",
        "/api/files/{path:path}",
        files.read_file,
        errors=(404,),
        produces="application/octet-stream",
    ),
    ApiRoute("PUT", "/api/files/{path:path}", files.upload_file, errors=(409, 413, 507)),
    ApiRoute("POST", "/api/files/{path:path}", files.change_file, errors=(404, 409)),
    ApiRoute("DELETE", "/api/files/{path:path}", files.delete_file, errors=(404, 409)),
    ApiRoute("POST", "/api/runs", runs.submit_run, status=201, errors=(409, 503, 507)),
    ApiRoute("GET", "/api/runs", runs.list_runs),
    ApiRoute("GET", "/api/runs/{run_id}", runs.show_run, errors=(404,)),
    ApiRoute("POST", "/api/runs/preflight", runs.preflight),
    ApiRoute("PATCH", "/api/runs/{run_id}", runs.change_run, errors=(404, 409)),
    ApiRoute("GET", "/api/runs/{run_id}/waiting", runs.explain_waiting, errors=(404, 409)),
    ApiRoute("DELETE", "/api/runs/{run_id}", runs.delete_run, errors=(404, 409)),
    ApiRoute("POST", "/api/runs/{run_id}/cancel", runs.cancel_run, errors=(404, 409)),
    ApiRoute("GET", "/api/runs/{run_id}/events", runs.list_events, errors=(404, 503)),
    ApiRoute("GET", "/api/runs/{run_id}/metrics", runs.list_metrics, errors=(404,)),
    ApiRoute("GET", "/api/runs/{run_id}/provenance", runs.list_provenance, errors=(404,)),
    ApiRoute("GET", "/api/runs/{run_id}/artifacts", runs.list_artifacts, errors=(404,)),
    ApiRoute(
        "GET",
        "/api/runs/{run_id}/artifacts/{artifact_id}/content",
        run_files.read_artifact,
        errors=(404, 410),
        produces="application/octet-stream",
    ),
    ApiRoute("GET", "/api/runs/{run_id}/log", run_files.read_log, errors=(404,), produces="text/plain"),
    ApiRoute("GET", "/api/execution/outputs", outputs.list_outputs, errors=(404,)),
    ApiRoute("GET", "/api/execution/outputs/{run_id}/about", outputs.show_output, errors=(404,)),
    ApiRoute("GET", "/api/execution/outputs/{run_id}/values", outputs.read_output_values, errors=(404,)),
    ApiRoute(
        "GET",
        "/api/execution/outputs/{run_id}/image",
        outputs.read_output_image,
        errors=(404,),
        produces="image/png",
    ),
    ApiRoute("GET", "/api/execution/outputs/{run_id}/steps", outputs.read_output_steps, errors=(404,)),
    ApiRoute("GET", "/api/execution/outputs/{run_id}/gradient", outputs.read_output_gradient, errors=(404,)),
    ApiRoute("GET", "/api/workers", workers_api.list_workers),
    ApiRoute("POST", "/api/workers/{worker_id}/drain", workers_api.drain_worker, errors=(404,)),
    ApiRoute("POST", "/api/workers/{worker_id}/undrain", workers_api.undrain_worker, errors=(404,)),
    ApiRoute(
        "POST",
        "/api/workers/{worker_id}/devices/{device}/reclaim",
        workers_api.reclaim_device,
        errors=(404, 409),
    ),
    ApiRoute("GET", "/api/system/devices", workers_api.list_devices),
    ApiRoute("GET", "/api/system/server", about.server_info),
)

_PUBLIC = frozenset((route.method, route.path) for route in API_ROUTES if route.public)


def _is_public(method: str, path: str) -> bool:
    return ("GET" if method == "HEAD" else method, path) in _PUBLIC


@asynccontextmanager
async def running_services(settings: Settings, registry: Registry | None = None) -> AsyncGenerator[Context]:
    """Storage, runs and workers, from started to ended in an orderly way."""
    machine = await asyncio.to_thread(machine_id)
    if registry is None:
        registry = await asyncio.to_thread(cached_registry, settings.catalog_file, settings.nodes_dir)
    database = await Database.open(settings.database_path)
    try:
        service = RunService(settings, database, registry=registry)
        workers = WorkerRegistry(
            settings,
            machine_id=machine,
            on_change=service.workers_changed,
            devices=service.device_status,
            late_result=service.late_result,
            hashes=lambda: registry.hashes,
        )
        service.attach(workers)
        await service.start()
        try:
            yield Context(
                settings=settings,
                service=service,
                workers=workers,
                registry=registry,
                graphs=GraphStore(settings.graphs_dir),
                drafts=DraftStore(
                    settings.drafts_dir, max_bytes=settings.max_draft_bytes, max_drafts=settings.max_drafts
                ),
                presets=PresetStore(settings.presets_dir),
                examples=ExampleStore(),
                files=FileStore(settings.files_dir),
                uploads=Uploads(settings.files_dir, settings.max_upload_bytes),
            )
        finally:
            await workers.close()
            await service.close()
    finally:
        await database.close()


def create_app(context: Context, access: Access, hosts: HostPolicy, web_dist: Path = WEB_DIST) -> ASGIApp:
    """The application around running services."""
    worker_socket = WorkerSocket(
        context.workers, access, hosts, hello_timeout_s=context.settings.hello_timeout_s
    )
    router = Router(
        routes=[
            *compile_routes(context, API_ROUTES),
            WebSocketRoute("/ws/execution", ExecutionSocket(context)),
            WebSocketRoute(WORKER_SOCKET_PATH, worker_socket),
            Route(INPUT_PATH, WorkerInputs(context.workers, access, hosts, context.service.input_of)),
        ],
        redirect_slashes=False,
        default=Site(web_dist),
    )
    guarded = Guards(router, access, hosts, _is_public)
    return AnswerHeaders(BodyLimit(Errors(guarded), context.settings.max_body_bytes))
