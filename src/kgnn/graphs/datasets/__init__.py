"""Named datasets: the catalog, where they come from, and generated ones."""
