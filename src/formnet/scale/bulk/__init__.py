"""Bulk extraction on Ray Data: documents to Parquet, resumable by shard."""
