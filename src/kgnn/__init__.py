"""Semi-supervised graph classification: kernel-based graph neural networks and their peers."""

import lazy_loader

__version__ = "0.2.0"

# The stub lists the public names. Each is imported on first use: `import kgnn` alone loads neither
# numpy nor torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
