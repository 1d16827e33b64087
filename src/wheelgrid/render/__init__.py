"""Derived files: written from the code and the data, checked for drift."""
