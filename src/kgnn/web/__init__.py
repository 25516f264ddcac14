"""The labeling workbench and the prediction server."""
