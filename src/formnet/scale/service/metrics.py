"""Metrics: our own counters, and what Ray's agent on this machine tells Prometheus of them and of Serve."""

import asyncio
import re

import httpx
import ray
from ray.serve.metrics import Counter

from formnet.document import Document
from formnet.scale.service.errors import ApiError

_OURS = re.compile(r"(# (HELP|TYPE) )?ray_(serve|formnet)_")


class Counters:
    """What was answered, by model."""

    def __init__(self) -> None:
        self.documents = Counter("formnet_documents", "Documents answered.", ("model",))
        self.pages = Counter("formnet_pages", "Pages of documents answered.", ("model",))
        self.words = Counter("formnet_words", "Words of documents answered.", ("model",))
        self.fields = Counter("formnet_fields", "Fields found.", ("model",))

    def count(self, document: Document, model: str) -> None:
        """Count a document that was answered."""
        for counter, number in (
            (self.documents, 1),
            (self.pages, len(document.pages)),
            (self.words, document.num_words),
            (self.fields, len(document.entities)),
        ):
            if number:
                counter.inc(number, {"model": model})


async def metrics_text() -> str:
    """Give Serve's metrics and ours as this machine's agent exports them, on a port of its own."""
    here = ray.get_runtime_context().get_node_id()
    node = next(node for node in await asyncio.to_thread(ray.nodes) if node["NodeID"] == here)
    try:
        async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
            found = await client.get(f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics")
    except httpx.HTTPError as error:
        raise ApiError(503, "no_metrics", "Ray's metrics cannot be had at the moment.") from error
    return "".join(line for line in found.text.splitlines(keepends=True) if _OURS.match(line))
