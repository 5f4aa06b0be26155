"""Process-wide settings for running the network: cores, bf16, oneDNN caches."""

import math
import os
from pathlib import Path

#: Where a container's share of cores is told: microseconds in each period, in one file or in two.
_QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)

#: oneDNN, under torch on CPUs, keeps a primitive per tensor shape; unbounded, varying shapes fill memory.
_CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}


def own_cores() -> int:
    """Count the cores that this process may use, which may be fewer than the machine has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, *map(_allowed, _QUOTAS))


def _allowed(files: tuple[str, ...]) -> int:
    try:
        quota, period = " ".join(Path(file).read_text(encoding="ascii") for file in files).split()
        return max(math.ceil(int(quota) / int(period)), 1) if int(quota) > 0 else 2**31
    except (OSError, ValueError, ArithmeticError):  # no such limit
        return 2**31


def fast_in_bf16() -> bool:
    """Whether the machine multiplies in bf16 itself; one that only imitates it is slower than in float32."""
    import torch

    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def hold_caches() -> None:
    """Bound its caches, unless somebody has; to be called before torch is imported."""
    for name, value in _CACHES.items():
        os.environ.setdefault(name, value)
