"""Configuration of a FormNet, its task, and the named sizes."""

from dataclasses import asdict, dataclass, field
from typing import Any

from transformers import PreTrainedConfig

#: Losses of token classification: cross-entropy at a word's first token or at all of its tokens, or the CRF likelihood.
LOSSES = ("token", "all_tokens", "crf")
#: What ETC reads: super-tokens in place of token embeddings, as in the paper; embeddings plus gated super-tokens; or
#: embeddings plus only what neighbors changed in the super-tokens.
GRAPH_FUSIONS = ("replace", "add", "update")

#: Sizes of the paper (A1 to A3, and the two ETC baselines of its appendix), one for CPUs, and one for tests.
SIZES: dict[str, dict[str, Any]] = {
    "a1": {"hidden_size": 512, "num_attention_heads": 8},
    "a2": {"hidden_size": 768, "num_attention_heads": 12},
    "a3": {"hidden_size": 1024, "num_attention_heads": 16},
    "etc-standard": {"hidden_size": 512, "num_attention_heads": 8, "super_tokens": False},
    "etc-heavy": {"hidden_size": 768, "num_attention_heads": 12, "super_tokens": False},
    "small": {"hidden_size": 384, "num_attention_heads": 12, "num_hidden_layers": 6, "num_graph_layers": 3},
    "tiny": {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "num_graph_layers": 2, "radius": 8},
}


@dataclass(frozen=True)
class Task:
    """What a trained token classifier predicts, and how its scores are decoded."""

    heads: dict[str, int] = field(default_factory=dict)  # number of tags per head; empty for a single unnamed head
    single_value_heads: list[str] = field(default_factory=list)  # heads whose labels have one value per document
    label_all_occurrences: bool = False  # whether such values were labeled wherever they occur, or in one place
    day_first: bool | None = None  # how 03/04/2019 is read; None if unknown
    join_cells: bool = False  # whether the lines of a table cell are read together, see document.reading_order
    key_heads: list[str] = field(default_factory=list)  # heads whose entities contain printed captions
    link_labels: dict[str, list[list[str]]] = field(default_factory=dict)  # per head, labels of owners and their parts
    link_calibration: dict[str, dict[str, float | None]] = field(default_factory=dict)  # per head, as below
    #: Per head and label, what `extraction.calibration.LabelCalibration` takes.
    calibration: dict[str, dict[str, dict[str, float | None]]] = field(default_factory=dict)

    @property
    def linked_labels(self) -> tuple[str, ...]:
        """Labels of owners and parts, of all heads, as the link head numbers them."""
        return tuple(sorted({label for pairs in self.link_labels.values() for pair in pairs for label in pair}))

    def to_dict(self) -> dict[str, Any]:
        """Return the task as JSON-compatible data, which the constructor accepts."""
        return asdict(self)


class FormNetConfig(PreTrainedConfig):
    """Configuration of a FormNet.

    Switches of the paper's ablation: `rich_attention` (off: ETC's clipped relative positions) and `super_tokens`.
    `sequence_positions` adds learned absolute positions, which the paper does not use and a warm start needs.

    >>> FormNetConfig.of_size("small").hidden_size
    384
    """

    model_type = "formnet"

    vocab_size: int = 119_547  # BERT multilingual cased
    hidden_size: int = 512
    num_attention_heads: int = 8
    num_hidden_layers: int = 12
    num_graph_layers: int = 12
    intermediate_size: int | None = None  # default: four times the hidden size
    hidden_act: str = "gelu_pytorch_tanh"
    hidden_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    pad_token_id: int | None = 0
    tie_word_embeddings: bool = True
    radius: int = 84
    rich_attention: bool = True
    super_tokens: bool = True
    max_relative_position: int = 12  # of ETC without Rich Attention
    sequence_positions: int = 0  # number of learned absolute positions
    segments: bool = False  # whether words and edges also have features of segments
    initial_theta: float = 0.5  # θ of the distance score
    initial_gate: float = 1.0  # factor of super-tokens
    graph_fusion: str = "add"  # one of GRAPH_FUSIONS
    zero_messages: bool = False  # whether messages start at zero, so that super-tokens start as their words
    edge_initializer_range: float | None = None  # of edge matrices; default: that of all others
    directed_messages: bool = False  # whether messages from the left, right, above and below have their own matrices
    graph_attention_heads: int = 1  # attention heads over neighbors
    classifier_dropout: float = 0.1
    loss: str = "token"  # one of LOSSES
    key_head: bool = False  # whether captions are separated from values
    link_size: int = 0  # size of the link head; 0 if there is none
    link_states: bool = True  # whether it also reads the states of entities, or only labels and positions
    pair_features: int = 22
    document_types: list[str] | None = None  # types of documents that the global token is classified into
    task: dict[str, Any] | None = None  # `Task` as JSON

    def __post_init__(self, **kwargs: Any) -> None:
        if self.intermediate_size is None:
            self.intermediate_size = 4 * self.hidden_size
        if self.loss not in LOSSES:
            raise ValueError(f"loss {self.loss!r} is not among {', '.join(LOSSES)}.")
        if self.graph_fusion not in GRAPH_FUSIONS:
            choices = ", ".join(GRAPH_FUSIONS)
            raise ValueError(f"graph_fusion {self.graph_fusion!r} is not among {choices}.")
        super().__post_init__(**kwargs)

    @property
    def num_node_features(self) -> int:
        """Number of features of a word: four corners, width and height, also those of its segment."""
        return 20 if self.segments else 10

    @property
    def num_edge_features(self) -> int:
        """Number of features of an edge: offsets, gaps and aspect ratios, also whether it stays in a segment."""
        return 12 if self.segments else 11

    @property
    def num_types(self) -> int:
        """Number of types of documents that are recognized; 0 without a classifier."""
        return len(self.document_types or ())

    def get_task(self) -> Task:
        """Parse the task; a configuration without one has a single head."""
        return Task(**(self.task or {}))

    @classmethod
    def of_size(cls, name: str, **overrides: Any) -> "FormNetConfig":
        """Return the configuration of a named size."""
        if name not in SIZES:
            raise ValueError(f"there is no size {name!r}; the sizes are {', '.join(SIZES)}.")
        return cls(**{**SIZES[name], **overrides})
