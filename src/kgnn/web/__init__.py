"""Pages and an API for people with a browser: a workbench to label graphs, a server of models."""
