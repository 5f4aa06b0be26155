"""The network: configuration, Rich Attention, the ETC layer, super-tokens, heads. It knows tensors and no documents."""

from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification

from formnet.modeling.configuration import SIZES, FormNetConfig
from formnet.modeling.network import (
    FormNetForMaskedLM,
    FormNetForTokenClassification,
    FormNetModel,
    FormNetOutput,
    FormNetScores,
)
from formnet.modeling.warm_start import warm_config, warm_start

__all__ = [
    "SIZES",
    "FormNetConfig",
    "FormNetForMaskedLM",
    "FormNetForTokenClassification",
    "FormNetModel",
    "FormNetOutput",
    "FormNetScores",
    "warm_config",
    "warm_start",
]

AutoConfig.register("formnet", FormNetConfig, exist_ok=True)
AutoModel.register(FormNetConfig, FormNetModel, exist_ok=True)
AutoModelForTokenClassification.register(FormNetConfig, FormNetForTokenClassification, exist_ok=True)
AutoModelForMaskedLM.register(FormNetConfig, FormNetForMaskedLM, exist_ok=True)
