"""Benchmarks: grids of cells, stores of records, and engines that run the cells."""
