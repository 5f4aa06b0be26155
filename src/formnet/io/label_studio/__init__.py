"""Conversion between documents and Label Studio tasks.

In a task, region coordinates are percentages of the page, `item_index` is the page, and all results of a region share
an `id`: https://labelstud.io/guide/predictions and https://labelstud.io/templates/optical_character_recognition
"""

from formnet.io.label_studio.documents import from_task, is_labeled, load_tasks
from formnet.io.label_studio.tasks import labeling_config, to_task

__all__ = ["SUFFIX", "from_task", "is_labeled", "labeling_config", "load_tasks", "to_task"]

#: Suffix of task files.
SUFFIX = ".label-studio.json"
