import numpy as np
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.encoding import Encoder
from formnet.encoding.graph_edits import GraphEditingEncoder, edit_graph


def test_edit_graph_changes_only_what_it_names(documents: list[Document], small_tokenizer: Tokenizer) -> None:
    document = Encoder(small_tokenizer)(documents[0])
    cut = edit_graph(document, "messages_cut")
    assert (cut.neighbors == -1).all()
    assert np.array_equal(cut.edge_features, document.edge_features)
    zeroed = edit_graph(document, "edge_features_zeroed")
    assert not zeroed.edge_features.any()
    assert np.array_equal(zeroed.neighbors, document.neighbors)
    shuffled = edit_graph(document, "edges_shuffled")
    assert np.array_equal(shuffled.neighbors == -1, document.neighbors == -1)
    moved = (shuffled.neighbors != document.neighbors)[document.neighbors >= 0]
    assert moved.mean() > 0.8
    degrees = [
        np.bincount(table[table >= 0], minlength=len(table)) for table in (document.neighbors, shuffled.neighbors)
    ]
    assert sorted(degrees[0]) == sorted(degrees[1])
    assert np.array_equal(shuffled.token_ids, document.token_ids)


def test_graph_editing_encoder_edits_each_document(documents: list[Document], small_tokenizer: Tokenizer) -> None:
    encoded = GraphEditingEncoder(small_tokenizer, "messages_cut")(documents[0])
    assert (encoded.neighbors == -1).all()
    assert encoded.num_words == documents[0].num_words
