"""API keys: kept as digests, compared in constant time."""

import hmac
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from formnet.errors import SettingsError
from formnet.scale.service.errors import ApiError

VARIABLE = "FORMNET_API_KEYS"
_SHORTEST = 8


def load_digests(file: Path | None) -> tuple[bytes, ...]:
    """Read keys from a file, one a line, and from the environment, with commas between; none means an open service."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()] if file else []
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read: {error}. Save it as UTF-8, a key a line.") from error
    written = [line for line in lines if line and not line.startswith("#")]
    if file and not written:
        raise SettingsError(f"{file}: holds no key; write one a line.")
    told = os.environ.get(VARIABLE, "")
    named = [key.strip() for key in told.split(",") if key.strip()]
    if told.strip() and not named:
        raise SettingsError(f"{VARIABLE} is set but holds no key; leave it out for an open service.")
    keys = [*written, *named]
    if any(len(key) < _SHORTEST for key in keys):
        raise SettingsError(f"an API key is shorter than {_SHORTEST} characters, and too easily guessed.")
    if not all(key.isascii() for key in keys):
        raise SettingsError("an API key has letters beyond ASCII, which clients send in different ways.")
    return tuple(_digest(key) for key in keys)


def check_key(headers: Mapping[str, str], digests: Sequence[bytes]) -> None:
    """Refuse a request without a known key, if there are keys."""
    if not digests:
        return
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    given = headers.get("x-api-key") or (bearer.strip() if kind.lower() == "bearer" else "")
    if not given:
        raise ApiError(401, "no_key", "This service needs a key: send it as X-API-Key, or as Authorization: Bearer.")
    digest = _digest(given)
    known = [hmac.compare_digest(digest, one) for one in digests]  # all of them, so that time tells nothing
    if not any(known):
        raise ApiError(401, "wrong_key", "This key is not known here.")


def _digest(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogateescape")).digest()
