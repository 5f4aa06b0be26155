"""Pre-training and fine-tuning: settings in one YAML file, and a thin use of transformers' Trainer."""

from formnet.training.config import FineTuning, PreTraining, load_settings

__all__ = ["FineTuning", "PreTraining", "load_settings"]
