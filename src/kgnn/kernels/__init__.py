"""Graphs to sparse features and kernel values."""
