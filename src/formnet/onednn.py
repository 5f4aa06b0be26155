"""oneDNN, under torch on CPUs, keeps what it made for every shape: batches of ever different ones fill memory."""

import os

_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}


def hold_caches() -> None:
    """Bound its caches, unless somebody has; to be called before torch is imported."""
    for name, value in _CACHES.items():
        os.environ.setdefault(name, value)
