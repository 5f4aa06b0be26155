"""Speed and memory, as ratios in one run: machines differ, ratios travel."""
