"""Records of benchmarks as what people read: tables, figures, a page."""
