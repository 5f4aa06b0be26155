"""Settings of the service, from the command line or from `args` in a Serve configuration file."""

from math import ceil, floor
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from formnet.errors import OcrError
from formnet.extraction.runtime import available_cores
from formnet.io.limits import ReadLimits
from formnet.io.ocr import check_engine_name, resolve_engine_name


class ServiceSettings(BaseModel):
    """Models, numbers of replicas, and limits on requests and documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: list[str] = Field(default=["auto"], min_length=1)
    replicas: int = Field(1, ge=1, description="Replicas of each model, and of the reader.")
    threads: int = Field(0, ge=0, description="Cores per model replica; 0 divides the cores of this machine.")
    reader_cores: float = Field(0, ge=0, description="Cores reserved per reader; 0 reserves none.")
    warm_up: bool = Field(True, description="Compile the models before the first request.")
    ocr: str = Field("auto", validate_default=True)
    references: tuple[Path, ...] = Field((), description="CSV lists that values are matched with.")
    api_key_file: Path | None = None
    allow_anonymous: bool = Field(False, description="Accept requests without a key, if there are no keys.")
    max_queue: int = Field(64, ge=1, description="Maximum documents queued per model, and for the reader.")
    max_bytes: int = Field(20 * 2**20, ge=1, description="Maximum bytes per request.")
    max_documents: int = Field(32, ge=1, description="Maximum documents per request.")
    max_pages: int = Field(20, ge=1, description="Maximum pages per document.")
    max_words: int = Field(20_000, ge=1, description="Maximum words per document.")
    max_tokens: int = Field(16_384, ge=1, description="Maximum tokens per document.")
    max_pixels: int = Field(50_000_000, ge=1, description="Maximum pixels per image.")
    max_memory: int = Field(2 * 2**30, ge=1, description="Maximum bytes of memory for reading a document.")
    timeout: float = Field(60, gt=0, description="Seconds to receive a request, read a document, and extract from it.")

    @field_validator("models")
    @classmethod
    def _check_unique_names(cls, models: list[str]) -> list[str]:
        names = sorted(map(model_name, models))
        if len(set(names)) < len(names):
            raise ValueError(f"model names must differ, but they are {', '.join(names)}. Rename a folder.")
        return models

    @field_validator("ocr")
    @classmethod
    def _check_engine(cls, ocr: str) -> str:
        try:
            check_engine_name(ocr)
            return resolve_engine_name(ocr)
        except OcrError as error:
            raise ValueError(str(error)) from error

    @property
    def ingress_replicas(self) -> int:
        """The number of ingress replicas: one per four model replicas."""
        return ceil(self.replicas * len(self.models) / 4)

    @property
    def model_cores(self) -> float:
        """The cores that each model replica reserves: `threads`, or an equal share of this machine's."""
        share = available_cores() / (self.replicas * len(self.models))
        return self.threads or (floor(share) if share > 1 else floor(share * 100) / 100)

    @property
    def read_limits(self) -> ReadLimits:
        """The limits on reading a document."""
        return ReadLimits(
            max_file_bytes=self.max_bytes,
            max_pages=self.max_pages,
            max_words=self.max_words,
            max_pixels=self.max_pixels,
        )


def model_name(model: str) -> str:
    """Return the name of a model in requests: its own name if it is shipped, else that of its folder."""
    return Path(model).name or Path(model).resolve().name
