"""Formats of native files: ELF, Mach-O and PE."""

__all__ = ["NotReadableError"]


class NotReadableError(Exception):
    """The file starts like its format but cannot be read as one."""
