"""The door: routes, and the way of a request's documents through readers and a network."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from time import perf_counter
from typing import Annotated, Any, NamedTuple

from fastapi import FastAPI, Query
from ray import serve
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from formnet import __version__
from formnet.document import Document
from formnet.extraction.output import answer
from formnet.scale.service.auth import check_key
from formnet.scale.service.errors import ApiError, too_busy
from formnet.scale.service.metrics import Counters, metrics_text
from formnet.scale.service.middleware import guard, request_id
from formnet.scale.service.openapi import BODY, REPLY, answers
from formnet.scale.service.reader import Reading, Upload
from formnet.scale.service.request_body import Store, read_body
from formnet.scale.service.schemas import ModelsReply, Reply
from formnet.scale.service.settings import Settings

#: Documents of one request that are under way at a time: none fills the queue alone.
AT_ONCE = 8

_LOG = logging.getLogger("ray.serve")
_PAGE = files(__package__) / "static"
#: What the page is made of, by route.
_ASSETS = {"page.js": "text/javascript", "page.css": "text/css"}

app = FastAPI(
    title="FormNet",
    version=__version__,
    description="Fields out of forms, receipts and invoices: documents in, labeled values with boxes out.",
    docs_url=None,  # its page would be fetched from elsewhere
    redoc_url=None,
)
guard(app)

ModelName = Annotated[str | None, Query(description="Which model; without it, the first.")]
Pictures = Annotated[bool, Query(description="Give a picture of each page, as a data URL.")]
MinScore = Annotated[float, Query(ge=0, le=1, description="Fields less sure than this are marked for review.")]
DayFirst = Annotated[bool | None, Query(description="Read 03/04/2019 so; without it, as the model knows it.")]


class Asked(NamedTuple):
    """What a request wants to know of its documents."""

    model: str
    pictures: bool
    min_score: float
    day_first: bool | None


@serve.ingress(app)
class Ingress:
    """Takes requests, asks readers and networks, and answers."""

    def __init__(self, settings: Settings, digests: tuple[bytes, ...], reader: Any, networks: dict[str, Any]) -> None:
        self.settings, self.digests, self.reader, self.networks = settings, digests, reader, networks
        self.labels: dict[str, list[str]] = {}
        self.counters, self.store = Counters(), Store(settings)

    @app.post(
        "/v1/extract",
        response_model=None,
        responses=answers(Reply, 400, 401, 404, 408, 413, 415, 422, 500, 503, example=REPLY),
        openapi_extra=BODY,
    )
    async def extract(
        self,
        request: Request,
        model: ModelName = None,
        pictures: Pictures = False,
        min_score: MinScore = 0.0,
        day_first: DayFirst = None,
    ) -> Response:
        """Give the fields of one document or several."""
        check_key(request.headers, self.digests)
        began = perf_counter()
        name = next(iter(self.networks)) if model is None else model
        if name not in self.networks:
            raise ApiError(404, "no_such_model", f"There is no model {name!r}; there is {', '.join(self.networks)}.")
        with self.store.shelf() as take:
            sent = await read_body(request, self.settings, take)
            found = await self._answers(sent, Asked(name, pictures, min_score, day_first))
        _LOG.info(
            "extracted",
            extra={
                "model": name,
                "documents": len(found),
                "pages": sum(len(one["pages"]) for one in found),
                "fields": sum(len(one["entities"]) for one in found),
                "milliseconds": round((perf_counter() - began) * 1e3),
            },
        )
        return JSONResponse({"request_id": request_id(request.scope), "model": name, "documents": found})

    async def _answers(self, sent: Sequence[Upload | Document], asked: Asked) -> list[dict[str, Any]]:
        """Answer all documents of a request, a few at a time."""
        turns = asyncio.Semaphore(min(AT_ONCE, self.settings.max_queue))
        work = [asyncio.ensure_future(self._answer(one, asked, turns)) for one in sent]
        try:
            return await asyncio.gather(*work)
        finally:
            for task in work:
                task.cancel()  # if one is refused, all are

    async def _answer(self, sent: Upload | Document, asked: Asked, turns: asyncio.Semaphore) -> dict[str, Any]:
        """Read a file if it is one, have its entities found, and say so."""
        async with turns:
            if isinstance(sent, Document):
                reading = Reading(sent)
            else:
                reading = await self._ask(self.reader.read, sent, asked.pictures)
            entities = await self._ask(self.networks[asked.model].entities, reading.document)
        if asked.day_first is not None:
            entities = [replace(entity, day_first=asked.day_first) for entity in entities]
        document = replace(reading.document, entities=tuple(entities), links=())
        said = answer(document, asked.min_score)
        for page, picture in zip(said["pages"], reading.pictures, strict=False):
            page["picture"] = picture
        self.counters.count(document, asked.model)
        return said

    async def _ask(self, method: Any, *arguments: Any) -> Any:
        """Call a deployment; what dies with its replica is asked once more, since asking changes nothing."""
        for _ in range(2):
            response = method.remote(*arguments)
            try:
                async with asyncio.timeout(self._patience):
                    found = await response
            except (BackPressureError, DeploymentUnavailableError) as error:
                raise too_busy() from error
            except TimeoutError as error:
                response.cancel()
                raise too_busy() from error
            except asyncio.CancelledError:
                response.cancel()
                raise
            except (RayActorError, OutOfMemoryError):
                continue
            if isinstance(found, ApiError):
                raise found
            return found
        raise too_busy()

    @property
    def _patience(self) -> float:
        """How long an answer is waited for: a document's own time, and some in the queue."""
        return 2 * self.settings.seconds

    @app.get("/v1/models", response_model=None, responses=answers(ModelsReply, 400, 401, 500, 503))
    async def models(self, request: Request) -> Response:
        """Name the models with their labels, and the limits."""
        check_key(request.headers, self.digests)
        for name, network in self.networks.items():
            if name not in self.labels:
                self.labels[name] = await self._ask(network.labels)
        limits = self.settings
        return JSONResponse(
            {
                "models": [{"name": name, "labels": self.labels[name]} for name in self.networks],
                "limits": {
                    "bytes": limits.max_bytes,
                    "documents": limits.max_documents,
                    "pages": limits.max_pages,
                    "words": limits.max_words,
                    "pixels": limits.max_pixels,
                    "seconds": limits.seconds,
                },
            }
        )

    @app.get("/healthz", response_class=PlainTextResponse, responses=answers(None, 400, 500))
    async def healthz(self) -> str:
        """Say that this process answers."""
        return "ok\n"

    @app.get("/readyz", response_class=PlainTextResponse, responses=answers(None, 400, 500, 503))
    async def readyz(self) -> str:
        """Say whether documents can be read and scored."""
        status = await asyncio.to_thread(serve.status)
        application = status.applications[serve.get_replica_context().app_name]
        running = {
            name
            for name, part in application.deployments.items()
            if any(state == "RUNNING" and count for state, count in part.replica_states.items())
        }
        if missing := application.deployments.keys() - running:
            raise ApiError(503, "not_ready", f"Not running yet: {', '.join(sorted(missing))}.")
        return "ready\n"

    @app.get("/metrics", response_class=PlainTextResponse, responses=answers(None, 400, 401, 500, 503))
    async def metrics(self, request: Request) -> Response:
        """Give this machine's metrics, for Prometheus: Serve's and our own."""
        check_key(request.headers, self.digests)
        return PlainTextResponse(await metrics_text(), media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    async def page(self) -> Response:
        """Give the page to try it on."""
        return Response((_PAGE / "index.html").read_bytes(), media_type="text/html")

    @app.get("/page/{name}", include_in_schema=False)
    async def asset(self, name: str) -> Response:
        """Give a part of the page; there are only these."""
        if name not in _ASSETS:
            raise ApiError(404, "not_found", "Not Found.")
        return Response((_PAGE / name).read_bytes(), media_type=_ASSETS[name])
