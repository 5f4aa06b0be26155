"""Process-wide settings for running the network: cores, bf16, oneDNN caches."""

import math
import os
from pathlib import Path

#: Files with a container's CPU quota and period in microseconds: cgroup v2, and v1.
_QUOTA_FILES = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)
#: oneDNN, under torch on CPUs, caches one primitive per tensor shape; unbounded, varying shapes fill memory.
_CACHE_LIMITS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
_UNLIMITED = 2**31


def available_cores() -> int:
    """Return the number of cores that this process may use, which may be fewer than the machine has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, *map(_quota, _QUOTA_FILES))


def _quota(files: tuple[str, ...]) -> int:
    try:
        quota, period = " ".join(Path(file).read_text(encoding="ascii") for file in files).split()
        return max(math.ceil(int(quota) / int(period)), 1) if int(quota) > 0 else _UNLIMITED
    except (OSError, ValueError, ArithmeticError):  # no quota
        return _UNLIMITED


def has_native_bf16() -> bool:
    """Return whether the hardware multiplies in bf16; where it is emulated, it is slower than float32."""
    import torch

    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def limit_onednn_caches() -> None:
    """Bound oneDNN's caches, unless the environment already does; call before importing torch."""
    for name, value in _CACHE_LIMITS.items():
        os.environ.setdefault(name, value)
