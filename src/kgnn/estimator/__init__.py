"""The scikit-learn interface of all methods, and everything that a fitted model can do."""
