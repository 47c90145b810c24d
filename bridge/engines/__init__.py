"""Who supplies pulls: one folder or file an engine, and a registry."""
