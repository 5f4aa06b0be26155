"""Groups of training runs: seeds of one configuration, variants of it, the paper's ablation, a learning curve.

Finished runs are reused, so that an interrupted experiment can be continued.
"""
