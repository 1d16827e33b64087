"""What does the work: processes, environments, sources, builds, tests and records."""
