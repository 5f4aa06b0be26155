"""API keys: stored as digests and compared in constant time."""

import hmac
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from fastapi import Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from ray import serve

from formnet.errors import SettingsError
from formnet.scale.service.errors import ApiError

#: Environment variable with API keys, separated by commas.
KEYS_VARIABLE = "FORMNET_API_KEYS"
_MIN_KEY_LENGTH = 8

_HEADER = APIKeyHeader(name="X-API-Key", auto_error=False)
_BEARER = HTTPBearer(auto_error=False)


def load_digests(file: Path | None) -> tuple[bytes, ...]:
    """Load the digests of the keys in a file, one key per line, and in the environment; empty if neither is set."""
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()] if file else []
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read: {error}. Save it as UTF-8 with one key per line.") from error
    file_keys = [line for line in lines if line and not line.startswith("#")]
    if file and not file_keys:
        raise SettingsError(f"{file}: contains no key. Write one key per line.")
    variable = os.environ.get(KEYS_VARIABLE)
    environment_keys = [key.strip() for key in (variable or "").split(",") if key.strip()]
    if variable is not None and not environment_keys:  # such as a secret that was not filled in
        raise SettingsError(f"{KEYS_VARIABLE} is set but contains no key. Unset it to disable authentication.")
    keys = [*file_keys, *environment_keys]
    if any(len(key) < _MIN_KEY_LENGTH for key in keys):
        raise SettingsError(f"an API key has fewer than {_MIN_KEY_LENGTH} characters. Use a longer one.")
    if not all(key.isascii() for key in keys):
        raise SettingsError("an API key has non-ASCII characters, which clients encode differently. Use ASCII.")
    return tuple(_digest(key) for key in keys)


async def require_api_key(
    header: Annotated[str | None, Security(_HEADER)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
) -> None:
    """Reject a request without a valid key, if the service has keys; a dependency of routes."""
    ingress: Any = serve.get_replica_context().servable_object
    check_key(header or (bearer.credentials if bearer else ""), ingress.digests)


def check_key(key: str, digests: Sequence[bytes]) -> None:
    """Raise `ApiError` if a key is missing or unknown, unless there are no keys."""
    if not digests:
        return
    if not key:
        raise ApiError(401, "missing_api_key", "API key required. Send it as X-API-Key or as Authorization: Bearer.")
    digest = _digest(key)
    matches = [hmac.compare_digest(digest, known) for known in digests]  # compare all, to take constant time
    if not any(matches):
        raise ApiError(401, "invalid_api_key", "Invalid API key.")


def _digest(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogateescape")).digest()
