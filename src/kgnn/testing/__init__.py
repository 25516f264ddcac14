"""Checks that ship with the package, for methods of ours and of others."""

from kgnn.testing.methods import CHECKS, check_method

__all__ = ["CHECKS", "check_method"]
