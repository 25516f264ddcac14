"""Named datasets: the catalog, their sources, the cache, and generated ones."""
