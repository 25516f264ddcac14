"""How a method is judged: splits, the protocol, metrics."""
