"""Speed and memory benchmarks, reported as ratios within one run so that they are comparable between machines."""
