import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formnet.datasets.alignment.search import edit_distances


@given(st.text(alphabet="abc", max_size=6), st.text(alphabet="abc", max_size=10))
def test_edit_distances_match_reference_table(pattern: str, text: str) -> None:
    table = [[0] * (len(text) + 1)]
    for i, p in enumerate(pattern, 1):
        row = [i]
        for j, t in enumerate(text, 1):
            row.append(min(table[-1][j] + 1, row[-1] + 1, table[-1][j - 1] + (p != t)))
        table.append(row)
    codes = [np.array([ord(c) for c in s], np.uint32) for s in (pattern, text)]
    assert edit_distances(*codes).tolist() == table[-1]
