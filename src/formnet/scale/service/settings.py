"""What a service is told when it starts: on the command line, or as `args` in a Serve configuration file."""

from math import ceil, floor
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from formnet.errors import OcrError
from formnet.extraction.runtime import own_cores
from formnet.io.ocr import chosen, refuse_unknown


class Settings(BaseModel):
    """Models, their replicas, and the limits within which documents are read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: list[str] = Field(default=["receipts"], min_length=1)
    replicas: int = Field(1, ge=1, description="Copies of each network, and of the reader.")
    threads: int = Field(0, ge=0, description="Cores of each network; 0 shares this machine's.")
    reader_cores: float = Field(0, ge=0, description="Cores of each reader; 0 lets it take what networks leave.")
    warm_up: bool = Field(True, description="Compile networks before the first request rather than never.")
    ocr: str = Field("auto", validate_default=True)
    api_key_file: Path | None = None
    max_queue: int = Field(64, ge=1, description="Documents that may wait for a network, and as many for a reader.")
    max_bytes: int = Field(20 * 2**20, ge=1, description="Of a request's body.")
    max_documents: int = Field(32, ge=1, description="In one request.")
    max_pages: int = Field(20, ge=1, description="Of a document.")
    max_words: int = Field(20_000, ge=1, description="Of a document.")
    max_pixels: int = Field(50_000_000, ge=1, description="Of a picture.")
    max_memory: int = Field(2 * 2**30, ge=1, description="For reading a document, in bytes.")
    seconds: float = Field(60, gt=0, description="To send a request's body, and to read a document.")

    @field_validator("models")
    @classmethod
    def _names_differ(cls, models: list[str]) -> list[str]:
        if len({name_of(model) for model in models}) < len(models):
            raise ValueError(f"two models cannot both be called {', '.join(sorted(map(name_of, models)))}.")
        return models

    @field_validator("ocr")
    @classmethod
    def _engine_is_known(cls, ocr: str) -> str:
        try:
            refuse_unknown(ocr)
            return chosen(ocr)
        except OcrError as error:
            raise ValueError(str(error)) from error

    @property
    def doors(self) -> int:
        """How many processes take requests: one keeps several networks busy."""
        return ceil(self.replicas * len(self.models) / 4)

    @property
    def cores(self) -> float:
        """What each network reserves; unless told otherwise, all share this machine."""
        share = own_cores() / (self.replicas * len(self.models))
        return self.threads or (floor(share) if share > 1 else floor(share * 100) / 100)


def name_of(model: str) -> str:
    """Give the name by which requests ask for a model: that of its folder, for one that is not shipped."""
    return Path(model).name or Path(model).resolve().name
