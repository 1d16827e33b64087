"""Device code in native files: one module per vendor; each reads its format from a stream."""
