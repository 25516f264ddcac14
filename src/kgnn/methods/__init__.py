"""One file per method, the contract that they keep, and the list of them."""
