"""Heads and tags in a model's configuration."""

from collections.abc import Collection, Mapping
from typing import Any

from transformers import PreTrainedConfig

from formnet.document.tags import TagScheme
from formnet.encoding import StructureScheme
from formnet.errors import SettingsError
from formnet.modeling.configuration import Task

#: Settings that version 0.1 had at the top level of config.json and that are now part of `task`.
_OLD_SETTINGS = ("heads", "once", "everywhere", "day_first", "temperatures")


def read_heads(config: PreTrainedConfig) -> dict[str, TagScheme]:
    """Read the tag scheme of each head from a configuration."""
    if any(hasattr(config, name) for name in _OLD_SETTINGS):
        raise SettingsError("its config.json is of version 0.1. Train it again, or convert it as the changelog says.")
    names: list[str] = [name for _, name in sorted((config.id2label or {}).items(), key=lambda item: int(item[0]))]
    task = Task(**(config.task or {}))
    heads: dict[str, TagScheme] = {}
    start = 0
    for head, size in (task.heads or {"": len(names)}).items():
        tags = tuple(name.removeprefix(f"{head}/") for name in names[start : start + size])
        heads[head] = TagScheme(tuple(tag.removeprefix("B-") for tag in tags if tag.startswith("B-")))
        if tags != heads[head].names:
            raise SettingsError("the model's labels are not BIOES tags. Use a model trained by formnet train.")
        start += size
    return heads


def label_config(
    heads: Mapping[str, TagScheme],
    single_value_heads: Collection[str] = (),
    *,
    label_all_occurrences: bool = False,
    day_first: bool | None = None,
    join_cells: bool = False,
    structure: Mapping[str, StructureScheme] | None = None,
) -> dict[str, Any]:
    """Return the configuration entries for heads, their tags and their structure; a single head has no name."""
    structure = structure or {}
    if len(heads) == 1:
        (scheme,) = heads.values()
        names = list(scheme.names)
        single_value_heads = [""] if single_value_heads else []
        structure = dict(zip([""], structure.values(), strict=False))
    else:
        names = [f"{head}/{name}" for head, scheme in heads.items() for name in scheme.names]
    task = Task(
        heads={head: len(scheme) for head, scheme in heads.items()} if len(heads) > 1 else {},
        single_value_heads=list(single_value_heads),
        key_heads=[head for head, part in structure.items() if part.has_keys],
        link_labels={head: sorted(map(list, part.link_labels)) for head, part in structure.items() if part.link_labels},
        label_all_occurrences=label_all_occurrences,
        day_first=day_first,
        join_cells=join_cells,
    )
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: i for i, name in enumerate(names)},
        "task": task.to_dict(),
    }
