"""Bytes to core values: every fault of a file is reported with its position, together."""
