"""Bulk extraction on Ray Data, an HTTP service on Ray Serve, and a client of the service."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formnet.scale.client import Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from formnet.scale.client import Client  # imported on first use, because bulk extraction does not need httpx

    return Client
