"""Graphs, or what they contain, to vectors that are learned without labels."""
