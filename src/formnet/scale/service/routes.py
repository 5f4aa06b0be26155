"""Ingress of the service: the routes, and the calls to readers and models."""

import asyncio
import logging
from collections.abc import Sequence
from importlib.resources import files
from time import perf_counter
from typing import Annotated, Any, NamedTuple

from fastapi import Query, Security
from ray import serve
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from formnet import __version__
from formnet.document import Document
from formnet.extraction.options import ExtractionOptions
from formnet.io.isolation import ReadResult
from formnet.scale.service.auth import require_api_key
from formnet.scale.service.errors import ApiError, overloaded_error
from formnet.scale.service.metrics import Counters, metrics_text
from formnet.scale.service.middleware import install_middleware, request_id
from formnet.scale.service.model import ModelDescription, ModelInput, TooLong
from formnet.scale.service.openapi import EXTRACT_BODY, ServiceApi, error_responses
from formnet.scale.service.reader import Upload
from formnet.scale.service.request_body import BodyBuffer, read_body
from formnet.scale.service.schemas import (
    ExtractResponse,
    LimitsInfo,
    ModelInfo,
    ModelsResponse,
    ServiceDocument,
    to_service_document,
)
from formnet.scale.service.settings import ServiceSettings

#: Maximum documents of one request that are processed concurrently, so that one request cannot fill the queue.
MAX_CONCURRENT_DOCUMENTS = 8

_LOG = logging.getLogger("ray.serve")
_STATIC = files(__package__) / "static"
#: Content types of the files of the web page.
_ASSETS = {"page.js": "text/javascript", "page.css": "text/css"}

app = ServiceApi(
    title="FormNet",
    version=__version__,
    description="Extract fields from forms, receipts and invoices: documents in, labeled values with boxes out.",
    docs_url=None,  # these pages load scripts from other hosts
    redoc_url=None,
)
install_middleware(app)

ModelName = Annotated[str | None, Query(description="Name of the model. Default: the first one.")]
Images = Annotated[bool, Query(description="Return an image of each page as a data URL.")]
MinScore = Annotated[float, Query(ge=0, le=1, description="Confidence below which a field is marked for review.")]
DayFirst = Annotated[
    bool | None, Query(description="Read 03/04/2019 day first or month first. Default: inferred from the document.")
]


class ExtractParameters(NamedTuple):
    """The query parameters of a request."""

    model: str
    images: bool
    options: ExtractionOptions


class ModelHandles(NamedTuple):
    """The deployments of a model: replicas for short documents, and for long ones."""

    short: Any
    long: Any


@serve.ingress(app)
class Ingress:
    """Replica that handles HTTP requests."""

    def __init__(
        self, settings: ServiceSettings, digests: tuple[bytes, ...], reader: Any, models: dict[str, ModelHandles]
    ) -> None:
        self.settings, self.digests, self.reader, self.models = settings, digests, reader, models
        self.descriptions: dict[str, ModelDescription] = {}
        self.counters, self.buffer = Counters(), BodyBuffer(settings)

    @app.post(
        "/v1/extract",
        dependencies=[Security(require_api_key)],
        response_model=ExtractResponse,
        response_model_exclude_unset=True,  # pages have no image unless requested
        responses=error_responses(400, 401, 404, 408, 413, 415, 422, 500, 503),
        openapi_extra=EXTRACT_BODY,
    )
    async def extract(
        self,
        request: Request,
        model: ModelName = None,
        images: Images = False,
        min_score: MinScore = 0.0,
        day_first: DayFirst = None,
    ) -> ExtractResponse:
        """Extract the fields of one or more documents."""
        start = perf_counter()
        name = next(iter(self.models)) if model is None else model
        if name not in self.models:
            problem = f"There is no model {name!r}. Available: {', '.join(self.models)}."
            raise ApiError(404, "unknown_model", problem)
        with self.buffer.reserve() as reserve:
            sources = await read_body(request, self.settings, reserve)
            documents = await self._extract_all(
                sources, ExtractParameters(name, images, ExtractionOptions(min_score, day_first))
            )
        _LOG.info(
            "extracted",
            extra={
                "model": name,
                "documents": len(documents),
                "pages": sum(len(document.pages) for document in documents),
                "fields": sum(len(document.entities) for document in documents),
                "milliseconds": round((perf_counter() - start) * 1e3),
            },
        )
        return ExtractResponse(request_id=request_id(request.scope), model=name, documents=documents)

    async def _extract_all(
        self, sources: Sequence[Upload | Document], parameters: ExtractParameters
    ) -> list[ServiceDocument]:
        """Process the documents of a request, a few at a time; an error in one fails the request."""
        semaphore = asyncio.Semaphore(min(MAX_CONCURRENT_DOCUMENTS, self.settings.max_queue))
        tasks = [asyncio.ensure_future(self._extract_one(source, parameters, semaphore)) for source in sources]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _extract_one(
        self, source: Upload | Document, parameters: ExtractParameters, semaphore: asyncio.Semaphore
    ) -> ServiceDocument:
        """Read a file, if it is one, and extract its entities."""
        async with semaphore:
            if isinstance(source, Document):
                result = ReadResult(source)
            else:
                result = await self._call(self.reader.read, source, parameters.images)
            item = ModelInput(result.document, parameters.options)
            model = self.models[parameters.model]
            annotations = await self._call(model.short.annotate, item)
            if isinstance(annotations, TooLong):
                annotations = await self._call(model.long.annotate, item)
        document = annotations.apply_to(result.document)
        self.counters.count(document, parameters.model)
        schema = (await self._describe(parameters.model)).schema
        # Long reference lists take a while to search.
        return await asyncio.to_thread(to_service_document, document, schema, result.images)

    async def _describe(self, model: str) -> ModelDescription:
        """Return the labels and the schema of a model, which its replica knows."""
        if model not in self.descriptions:
            self.descriptions[model] = await self._call(self.models[model].short.describe)
        return self.descriptions[model]

    async def _call(self, method: Any, *arguments: Any) -> Any:
        """Call a deployment, once more if its replica dies; raise the `ApiError` that it returns."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        for _ in range(2):
            response = method.remote(*arguments)
            try:
                async with asyncio.timeout(self._call_timeout):
                    result = await response
            except (BackPressureError, DeploymentUnavailableError) as error:
                raise overloaded_error() from error
            except TimeoutError as error:
                response.cancel()
                raise overloaded_error() from error
            except asyncio.CancelledError:
                response.cancel()
                raise
            except (RayActorError, OutOfMemoryError) as error:
                if loop.time() - start > self.settings.timeout:  # the replica ended itself
                    limit = f"{self.settings.timeout:g} seconds (the limit)"
                    problem = f"Extraction took longer than {limit}. Split the document."
                    raise ApiError(422, "processing_timeout", problem) from error
                continue
            if isinstance(result, ApiError):
                raise result
            return result
        raise overloaded_error()

    @property
    def _call_timeout(self) -> float:
        """The timeout of a call in seconds: that of a document, and as much again in the queue."""
        return 2 * self.settings.timeout

    @app.get(
        "/v1/models",
        dependencies=[Security(require_api_key)],
        response_model=ModelsResponse,
        responses=error_responses(400, 401, 500, 503),
    )
    async def list_models(self) -> ModelsResponse:
        """Return the models with their labels, and the limits."""
        models = [ModelInfo(name=name, labels=(await self._describe(name)).labels) for name in self.models]
        settings = self.settings
        limits = LimitsInfo(
            bytes=settings.max_bytes,
            documents=settings.max_documents,
            pages=settings.max_pages,
            words=settings.max_words,
            tokens=settings.max_tokens,
            pixels=settings.max_pixels,
            seconds=settings.timeout,
        )
        return ModelsResponse(models=models, limits=limits)

    @app.get("/healthz", response_class=PlainTextResponse, responses=error_responses(400, 500))
    async def healthz(self) -> str:
        """Return 200 if this process responds."""
        return "ok\n"

    @app.get("/readyz", response_class=PlainTextResponse, responses=error_responses(400, 500, 503))
    async def readyz(self) -> str:
        """Return 200 if every deployment has a running replica."""
        status = await asyncio.to_thread(serve.status)
        application = status.applications[serve.get_replica_context().app_name]
        running = {
            name
            for name, deployment in application.deployments.items()
            if any(state == "RUNNING" and count for state, count in deployment.replica_states.items())
        }
        if missing := application.deployments.keys() - running:
            raise ApiError(503, "not_ready", f"Not running yet: {', '.join(sorted(missing))}.")
        return "ready\n"

    @app.get(
        "/metrics",
        dependencies=[Security(require_api_key)],
        response_class=PlainTextResponse,
        responses=error_responses(400, 401, 500, 503),
    )
    async def metrics(self) -> Response:
        """Return the metrics of Serve and of this service on this machine, for Prometheus."""
        return PlainTextResponse(await metrics_text(), media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    async def page(self) -> Response:
        """Return the web page."""
        return Response((_STATIC / "index.html").read_bytes(), media_type="text/html")

    @app.get("/page/{name}", include_in_schema=False)
    async def asset(self, name: str) -> Response:
        """Return a script or style sheet of the web page."""
        if name not in _ASSETS:
            raise ApiError(404, "not_found", "Not Found.")
        return Response((_STATIC / name).read_bytes(), media_type=_ASSETS[name])
