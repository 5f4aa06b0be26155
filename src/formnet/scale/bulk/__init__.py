"""Bulk extraction on Ray Data: an archive to Parquet, resumable shard by shard."""
