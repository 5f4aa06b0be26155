"""Runs that belong together: seeds of one configuration, the paper's ablation, a learning curve.

Each run is trained once and found again, so that an experiment that was cut off goes on where it stopped.
"""
