"""Torch modules, without training code."""
