"""Many runs: grids of cells, a store of records, engines that fill it."""
