"""The command line: one module per command, one boundary for errors."""
