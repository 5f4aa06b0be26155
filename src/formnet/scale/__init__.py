"""Many documents: an archive through Ray Data, a service on Ray Serve.

Both only carry documents to an `Extractor` and bring entities back.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formnet.scale.client import Client

__all__ = ["Client"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from formnet.scale.client import Client  # what works on archives needs no HTTP

    return Client
