"""Scores to entities to structured output: the extractor, decoding, output formats and shipped models."""
