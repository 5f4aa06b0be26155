"""Printed values: parsing amounts and dates, and normalizing them by label."""
