"""Parse printed amounts and dates, and normalize them by label."""
