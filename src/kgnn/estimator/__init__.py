"""What makes a method usable: the scikit-learn contract and what a fitted model can answer."""
