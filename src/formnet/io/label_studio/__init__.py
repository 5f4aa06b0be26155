"""Label Studio both ways: a document → a task to be labeled, a labeled task → a document.

Regions are in percent of their page, `item_index` is the page, and what belongs to one region shares an `id`:
https://labelstud.io/guide/predictions and https://labelstud.io/templates/optical_character_recognition
"""

from formnet.io.label_studio.documents import from_task, is_labeled, load_tasks
from formnet.io.label_studio.tasks import labeling_config, to_task

__all__ = ["SUFFIX", "from_task", "is_labeled", "labeling_config", "load_tasks", "to_task"]

#: How files of tasks are called.
SUFFIX = ".label-studio.json"
