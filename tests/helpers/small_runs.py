"""Settings for runs that are over in seconds."""

from dataclasses import replace
from pathlib import Path

from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.config import FineTuning, make_settings

ROOT = Path(__file__).parents[2]
#: A network that learns a few pages in seconds.
QUICK = {"hidden_size": 64, "num_attention_heads": 4, "attention_backend": "blocked", "radius": 84}


def under_other_names(folder: Path) -> str:
    """Write the examples again, so that they count as other documents, to look at while training on the first."""
    file = folder / "others.jsonl"
    write((replace(document, id=f"other {document.id}") for document in read(ROOT / "examples/documents.jsonl")), file)
    return f"jsonl:{file}"


def settings_for(vocabulary: Path, output: Path, **changes: object) -> FineTuning:
    data = {
        "corpus": f"jsonl:{ROOT / 'examples/documents.jsonl'}",
        "start": {"size": "tiny", "tokenizer": str(vocabulary), "changes": QUICK},
        "output": output,
        "epochs": 3,
        "optimization": {"learning_rate": 3e-3, "batch_documents": 1, "bf16": False},
        **changes,
    }
    return make_settings(FineTuning, data, "test")
