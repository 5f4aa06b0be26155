"""Model lookup: shipped models, local folders and Hub repositories. Weights are safetensors only."""

from hashlib import file_digest
from pathlib import Path

from formnet.errors import SettingsError

_FOLDER = Path(__file__).parent
#: Name under which a shipped model is chosen per document, and these models by document type.
AUTO = "auto"
AUTO_MODELS = {"receipts": "receipts", "invoices": "invoices"}
#: Prefix of a repository on the Hub, so that a misspelled folder is not looked up there.
HUB_PREFIX = "hf://"
#: Weight files, of which a model folder has one: float, int8, ONNX.
_WEIGHT_FILES = ("model.safetensors", "model-int8.safetensors", "model.onnx")
#: Files of a model; nothing else is downloaded.
_MODEL_FILES = ("*.json", "*.safetensors", "*.onnx", "*.md", "vocab.txt")


def shipped_models() -> tuple[str, ...]:
    """Return the names of the models in this package."""
    return tuple(sorted(config.parent.name for config in _FOLDER.glob("*/config.json")))


def find_damaged_files() -> list[str]:
    """Return the files of shipped models whose SHA-256 differs from the recorded one."""
    lines = (_FOLDER / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    return [name for name, digest in sums.items() if _sha256(_FOLDER / name) != digest]


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def find_model(source: str | Path) -> Path:
    """Return the folder of a model given by name, folder or Hub repository."""
    if str(source) in shipped_models():
        return _FOLDER / str(source)
    if isinstance(source, str) and source.startswith(HUB_PREFIX):
        return download(source)
    folder = Path(source)
    if (folder / "config.json").is_file():
        return folder
    if folder.exists():
        raise SettingsError(f"{folder}: contains no config.json. Use a folder written by formnet train.")
    available = ", ".join(shipped_models()) or "none"
    raise SettingsError(
        f"{str(source)!r}: no such model or folder (shipped models: {available}). A model on the Hub is written as "
        f"{HUB_PREFIX}owner/name."
    )


def find_models(source: str) -> dict[str, Path]:
    """Return the folders of a model by document type: several for "auto", else one under its name."""
    models = AUTO_MODELS if source == AUTO else {source: source}
    return {name: find_model(model) for name, model in models.items()}


def check_single_format(folder: Path, weights: str) -> None:
    """Raise if a folder already holds another kind of weights than the ones to be written."""
    for other in _WEIGHT_FILES:
        if other != weights and (folder / other).is_file():
            raise SettingsError(f"{folder}: already contains a model as {other}. Choose another folder.")


def absolute_name(source: str) -> str:
    """Return a model name that `find_model` resolves from any working directory of this machine."""
    is_name = source == AUTO or source in shipped_models()
    return str(Path(source).resolve()) if not is_name and Path(source).is_dir() else source


def download(address: str) -> Path:
    """Download a model from the Hub, given as hf://owner/name or hf://owner/name@revision, and return its folder."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    repository, _, revision = address.removeprefix(HUB_PREFIX).partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(_MODEL_FILES)))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"{address}: cannot be downloaded from the Hub: {reason}") from error
