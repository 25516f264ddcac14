"""What a prediction is worth, why it was made, and which graphs to label next."""
