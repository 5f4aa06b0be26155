"""The network: tensors to scores. `formnet.py` is the paper; nothing here depends on documents."""

from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification

from formnet.modeling.configuration import SIZES, FormNetConfig, Task
from formnet.modeling.formnet import FormNetForMaskedLM, FormNetForTokenClassification, FormNetModel, FormNetOutput
from formnet.modeling.warm_start import warm_config, warm_start

__all__ = [
    "SIZES",
    "FormNetConfig",
    "FormNetForMaskedLM",
    "FormNetForTokenClassification",
    "FormNetModel",
    "FormNetOutput",
    "Task",
    "warm_config",
    "warm_start",
]

AutoConfig.register("formnet", FormNetConfig, exist_ok=True)
AutoModel.register(FormNetConfig, FormNetModel, exist_ok=True)
AutoModelForTokenClassification.register(FormNetConfig, FormNetForTokenClassification, exist_ok=True)
AutoModelForMaskedLM.register(FormNetConfig, FormNetForMaskedLM, exist_ok=True)
