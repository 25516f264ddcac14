"""Checks for methods, those of kgnn and your own."""

from kgnn.testing.methods import CHECKS, check_method

__all__ = ["CHECKS", "check_method"]
