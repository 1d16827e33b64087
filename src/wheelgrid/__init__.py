"""wheelgrid: a multi-vendor wheel build and portability matrix for PyTorch stacks."""

__all__ = ["__version__"]

__version__ = "0.1.0"
