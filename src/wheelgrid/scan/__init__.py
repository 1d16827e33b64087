"""Finds what another project still takes from a value that is in sunset. Reads; runs nothing."""
