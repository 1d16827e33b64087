"""Rules about data that decodes and is still wrong; each has an id, a reason and a way to fix."""
