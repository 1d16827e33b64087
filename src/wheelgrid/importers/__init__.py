"""Turn what people have (workflows, build.toml, conda variants) into a matrix.yaml."""
