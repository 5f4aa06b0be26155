"""Pre-training and fine-tuning with transformers' Trainer, configured by one YAML file per run."""

from formnet.training.config import Distillation, FineTuning, PreTraining, load_settings

__all__ = ["Distillation", "FineTuning", "PreTraining", "load_settings"]
