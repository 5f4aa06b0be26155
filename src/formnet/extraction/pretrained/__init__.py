"""Where trained networks are: shipped with the package, in a folder, or on the Hub. Weights are safetensors only."""

from pathlib import Path

from formnet.errors import SettingsError

_HERE = Path(__file__).parent
#: What weights are called: whole, in eight bits, as ONNX.
_FORMS = ("model.safetensors", "model-int8.safetensors", "model.onnx")
#: What a model consists of; nothing else is fetched.
_PARTS = ("*.json", "*.safetensors", "*.onnx", "*.md", "vocab.txt")


def shipped() -> tuple[str, ...]:
    """Name the models that come with the package."""
    return tuple(sorted(config.parent.name for config in _HERE.glob("*/config.json")))


def find_model(source: str | Path) -> Path:
    """Give the folder of a model by its name, its folder or its repository on the Hub."""
    if str(source) in shipped():
        return _HERE / str(source)
    folder = Path(source)
    if (folder / "config.json").is_file():
        return folder
    if folder.exists():
        raise SettingsError(f"{folder}: holds no config.json; name a folder that formnet train wrote.")
    known = f"shipped models are {', '.join(shipped())}" if shipped() else "none is shipped"
    if isinstance(source, Path) or source.count("/") != 1 or source.startswith((".", "~")):
        raise SettingsError(f"there is no model {str(source)!r}: no such folder, and {known}.")
    return _fetched(source, known)


def refuse_other_forms(folder: Path, own: str) -> None:
    """Refuse to write weights beside another form of them: which of the two is the model could not be told."""
    for other in _FORMS:
        if other != own and (folder / other).is_file():
            raise SettingsError(f"{folder}: holds a model already, as {other}; give another folder.")


def portable(source: str) -> str:
    """Name a model as it can be found from any folder of this machine, by the same rules as `find_model`."""
    return str(Path(source).resolve()) if source not in shipped() and Path(source).is_dir() else source


def _fetched(repository: str, known: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        return Path(snapshot_download(repository, allow_patterns=list(_PARTS)))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"there is no folder {repository!r}, {known}, and the Hub gives none: {reason}") from error
