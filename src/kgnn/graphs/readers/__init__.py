"""Readers of files that may be damaged or malicious: one module per format."""
