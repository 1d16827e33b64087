"""The published view: a model of the matrix with its evidence, and the static site."""
