"""The shape of a FormNet, and the sizes that have names."""

from typing import Any

from transformers import PreTrainedConfig

#: Sizes of the paper (A1 to A3, and the heavier ETC of its appendix), one for CPUs, and one for tests.
SIZES: dict[str, dict[str, Any]] = {
    "a1": {"hidden_size": 512, "num_attention_heads": 8},
    "a2": {"hidden_size": 768, "num_attention_heads": 12},
    "a3": {"hidden_size": 1024, "num_attention_heads": 16},
    "etc-standard": {"hidden_size": 512, "num_attention_heads": 8, "super_tokens": False},
    "etc-heavy": {"hidden_size": 768, "num_attention_heads": 12, "super_tokens": False},
    "small": {"hidden_size": 384, "num_attention_heads": 12, "num_hidden_layers": 6, "num_graph_layers": 3},
    "tiny": {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "num_graph_layers": 2, "radius": 8},
}


class FormNetConfig(PreTrainedConfig):
    """Configuration of a FormNet.

    Switches of the paper's ablation: `rich_attention` (off: ETC's clipped relative positions) and `super_tokens`.
    `sequence_positions` adds learned absolute positions, which the paper does without and a warm start brings along.

    >>> FormNetConfig.of_size("small").hidden_size
    384
    """

    model_type = "formnet"

    vocab_size: int = 119_547  # BERT multilingual cased
    hidden_size: int = 512
    num_attention_heads: int = 8
    num_hidden_layers: int = 12
    num_graph_layers: int = 12
    intermediate_size: int | None = None  # four times the hidden size
    hidden_act: str = "gelu_pytorch_tanh"
    hidden_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    pad_token_id: int | None = 0
    tie_word_embeddings: bool = True
    radius: int = 84
    rich_attention: bool = True
    super_tokens: bool = True
    max_relative_position: int = 12  # for plain ETC
    sequence_positions: int = 0  # how many learned positions; 0: none
    node_features: int = 10
    edge_features: int = 11
    initial_sharpness: float = 0.5  # θ of the distance score
    initial_gate: float = 1.0  # how far super-tokens are open
    attention_backend: str = "auto"
    classifier_dropout: float = 0.1
    loss_on_all_pieces: bool = False  # learn a word's tag at each of its pieces, not at the first only
    loss_on_paths: bool = False  # learn whole paths of tags among all legal ones, not word by word
    heads: dict[str, int] | None = None  # tags of each head by its name, where there are several
    once: list[str] | None = None  # heads of whose types a document has one each
    day_first: bool | None = None  # how documents like those learned from write dates
    everywhere: bool = False  # such values were learned wherever they stand, and not in one place
    temperatures: list[float] | None = None  # a head's scores are divided by it, so that probabilities are honest

    def __post_init__(self, **kwargs: Any) -> None:
        if self.intermediate_size is None:
            self.intermediate_size = 4 * self.hidden_size
        super().__post_init__(**kwargs)

    @classmethod
    def of_size(cls, name: str, **changes: Any) -> "FormNetConfig":
        """Give a configuration by the name of its size, with changes."""
        if name not in SIZES:
            raise ValueError(f"there is no size {name!r}; known are {', '.join(SIZES)}.")
        return cls(**{**SIZES[name], **changes})
