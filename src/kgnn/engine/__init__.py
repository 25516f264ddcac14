"""Training and predicting with torch; knows no method by name."""
