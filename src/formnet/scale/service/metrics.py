"""Prometheus metrics: counters of the service, and the export of Ray's metrics agent."""

import asyncio
import re

import httpx
import ray
from ray.serve.metrics import Counter

from formnet.document import Document
from formnet.scale.service.errors import ApiError

_EXPORTED = re.compile(r"(# (HELP|TYPE) )?ray_(serve|formnet)_")


class Counters:
    """Totals of processed documents, by model."""

    def __init__(self) -> None:
        self.documents = Counter("formnet_documents", "Documents processed.", ("model",))
        self.pages = Counter("formnet_pages", "Pages processed.", ("model",))
        self.words = Counter("formnet_words", "Words processed.", ("model",))
        self.fields = Counter("formnet_fields", "Fields extracted.", ("model",))

    def count(self, document: Document, model: str) -> None:
        """Count a processed document."""
        for counter, number in (
            (self.documents, 1),
            (self.pages, len(document.pages)),
            (self.words, document.num_words),
            (self.fields, len(document.entities)),
        ):
            if number:
                counter.inc(number, {"model": model})


async def metrics_text() -> str:
    """Return the metrics of Serve and of this service on this machine, from the port of Ray's metrics agent."""
    this_node = ray.get_runtime_context().get_node_id()
    node = next(node for node in await asyncio.to_thread(ray.nodes) if node["NodeID"] == this_node)
    try:
        async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
            response = await client.get(f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics")
    except httpx.HTTPError as error:
        raise ApiError(503, "metrics_unavailable", "Ray's metrics agent does not respond.") from error
    return "".join(line for line in response.text.splitlines(keepends=True) if _EXPORTED.match(line))
