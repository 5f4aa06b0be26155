"""Settings of training runs that take seconds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.config import FineTuning, make_settings

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/documents.jsonl"
#: Model configuration that overfits a few pages in seconds.
SMALL_MODEL = {"hidden_size": 64, "num_attention_heads": 4, "radius": 84}


def write_renamed_examples(folder: Path) -> str:
    """Write the examples with other ids, as validation documents for runs that train on the examples."""
    file = folder / "others.jsonl"
    write((replace(document, id=f"other {document.id}") for document in read(EXAMPLES)), file)
    return f"jsonl:{file}"


def small_run(vocabulary: Path, output: Path, **settings: Any) -> FineTuning:
    """Return settings for fine-tuning a small model on the examples, without compiling it."""
    optimization = {"learning_rate": 3e-3, "max_batch_documents": 1, "bf16": False, "compile": False}
    data = {
        "corpus": f"jsonl:{EXAMPLES}",
        "init": {"size": "tiny", "tokenizer": str(vocabulary), "overrides": SMALL_MODEL},
        "output": output,
        "epochs": 3,
        **settings,
        "optimization": {**optimization, **settings.get("optimization", {})},
    }
    return make_settings(FineTuning, data, "test")
