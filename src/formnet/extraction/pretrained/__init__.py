"""Model lookup: shipped models, local folders and Hub repositories. Weights are safetensors only."""

from pathlib import Path

from formnet.errors import SettingsError

_FOLDER = Path(__file__).parent
#: Weight files, of which a model folder has one: float, int8, ONNX.
_WEIGHT_FILES = ("model.safetensors", "model-int8.safetensors", "model.onnx")
#: Files of a model; nothing else is downloaded.
_MODEL_FILES = ("*.json", "*.safetensors", "*.onnx", "*.md", "vocab.txt")


def shipped_models() -> tuple[str, ...]:
    """Return the names of the models in this package."""
    return tuple(sorted(config.parent.name for config in _FOLDER.glob("*/config.json")))


def find_model(source: str | Path) -> Path:
    """Return the folder of a model given by name, folder or Hub repository."""
    if str(source) in shipped_models():
        return _FOLDER / str(source)
    folder = Path(source)
    if (folder / "config.json").is_file():
        return folder
    if folder.exists():
        raise SettingsError(f"{folder}: contains no config.json. Use a folder written by formnet train.")
    available = f"shipped models: {', '.join(shipped_models()) or 'none'}"
    if isinstance(source, Path) or source.count("/") != 1 or source.startswith((".", "~")):
        raise SettingsError(f"{str(source)!r}: no such model or folder ({available}).")
    return _download(source, available)


def check_single_format(folder: Path, weights: str) -> None:
    """Raise if a folder already holds another kind of weights than the ones to be written."""
    for other in _WEIGHT_FILES:
        if other != weights and (folder / other).is_file():
            raise SettingsError(f"{folder}: already contains a model as {other}. Choose another folder.")


def absolute_name(source: str) -> str:
    """Return a model name that `find_model` resolves from any working directory of this machine."""
    return str(Path(source).resolve()) if source not in shipped_models() and Path(source).is_dir() else source


def _download(repository: str, available: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        return Path(snapshot_download(repository, allow_patterns=list(_MODEL_FILES)))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(
            f"{repository!r}: no such model or folder ({available}), and it cannot be downloaded from the Hub: {reason}"
        ) from error
