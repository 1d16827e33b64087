"""Scripts that run inside target interpreters; shipped as files, never imported."""
