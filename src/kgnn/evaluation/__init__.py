"""Evaluation of methods and models: splits, protocols, metrics and comparisons."""
