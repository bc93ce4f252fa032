"""The ASGI application: ROUTES is the one table, and errors are JSON objects with one key."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import NamedTuple

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from luce.errors import LuceError, MissingPackageError
from luce.serve import inference, ranking
from luce.serve.guard import Guard
from luce.serve.inference import HEADER_LENGTH, ScoredRequest
from luce.serve.model import ModelChanged
from luce.serve.service import Service

EXTENSIONS = ["binary_tensor_data"]


def respond(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as JSON."""
    return Response(orjson.dumps(content), status, headers, media_type="application/json")


async def live(request: Request, service: Service) -> Response:
    return respond({"live": True})


async def ready(request: Request, service: Service) -> Response:
    return respond({"ready": not service.draining}, 503 if service.draining else 200)


async def server(request: Request, service: Service) -> Response:
    return respond({"name": "luce", "version": version("luce"), "extensions": EXTENSIONS})


async def model(request: Request, service: Service) -> Response:
    return respond(inference.metadata(service.name, service.model))


async def model_ready(request: Request, service: Service) -> Response:
    return respond({"name": service.name, "ready": not service.draining}, 503 if service.draining else 200)


async def infer(request: Request, service: Service) -> Response:
    header_length = request.headers.get(HEADER_LENGTH)
    async with service.body_of(request) as body:
        arguments = service.name, service.model, body, header_length, service.settings
        answer = await service.run(inference.infer, *arguments)
    return _scored(request, service, answer)


async def rank(request: Request, service: Service) -> Response:
    async with service.body_of(request) as body:
        answer = await service.run(ranking.rank, service.name, service.model, body, service.settings)
    return _scored(request, service, answer)


async def metrics(request: Request, service: Service) -> Response:
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _scored(request: Request, service: Service, answer: ScoredRequest) -> Response:
    service.metrics.rows.inc(answer.rows)
    request.scope["rows"] = answer.rows
    if answer.header_length is None:
        return Response(answer.content, media_type="application/json")
    headers = {HEADER_LENGTH: str(answer.header_length)}
    return Response(answer.content, headers=headers, media_type="application/octet-stream")


class Endpoint(NamedTuple):
    """A route: its method, what answers it, and whether it needs the token."""

    method: str
    answer: Callable[[Request, Service], Awaitable[Response]]
    protected: bool = True


ROUTES = {
    "/v2/health/live": Endpoint("GET", live, protected=False),
    "/v2/health/ready": Endpoint("GET", ready, protected=False),
    "/v2": Endpoint("GET", server),
    "/v2/models/{name}": Endpoint("GET", model),
    "/v2/models/{name}/ready": Endpoint("GET", model_ready),
    "/v2/models/{name}/infer": Endpoint("POST", infer),
    "/rank": Endpoint("POST", rank),
    "/metrics": Endpoint("GET", metrics),
}
"""The table of the routes."""


def create_app(service: Service) -> Guard:
    """The ASGI application of a service."""

    def route(path: str, endpoint: Endpoint) -> Route:
        async def handle(request: Request) -> Response:
            request.scope["route_path"] = path
            name = request.path_params.get("name", service.name)
            if name != service.name:
                raise HTTPException(404, f"There is no model {name[:100]!r}. This server has {service.name!r}.")
            return await endpoint.answer(request, service)

        return Route(path, handle, methods=[endpoint.method])

    app = Starlette(
        routes=[route(path, endpoint) for path, endpoint in ROUTES.items()],
        exception_handlers={LuceError: _refuse, HTTPException: _refuse_http, ClientDisconnect: _gone, Exception: _fail},
    )
    app.router.redirect_slashes = False
    return Guard(app, service, {path for path, endpoint in ROUTES.items() if not endpoint.protected})


async def _refuse(request: Request, error: Exception) -> Response:
    status = 409 if isinstance(error, ModelChanged) else 501 if isinstance(error, MissingPackageError) else 400
    return respond({"error": str(error)}, status)


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = f"There is no {request.method} {request.url.path[:100]}. Known: {', '.join(ROUTES)}."
    text = known if error.detail in ("Not Found", "Method Not Allowed") else error.detail
    return respond({"error": text}, error.status_code, dict(error.headers or {}))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it; as nginx calls a client that closed the connection


async def _fail(request: Request, error: Exception) -> Response:
    return respond({"error": "An internal error occurred; the log of the server has its cause."}, 500)
