"""Where the time of one KGNN fit goes, and how much memory it takes.

    python benchmarks/speed/fit.py [DATASET ...] [-o build/speed-fit.json]

Split 0 with 10 % labels: of the protocol ``fair``, which has as many validation graphs, and of
``budget``, which has none, so that the labels are cross-fitted. Every stage is timed without the
stages inside it, so that they add up; each fit runs in a process of its own, whose peak memory is
shown.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from peers import PAPER, save, show

from kgnn.engine import loop, network
from kgnn.engine.batch import GraphBatches
from kgnn.engine.fast.quotients import ColorBatches
from kgnn.engine.gin import GIN
from kgnn.evaluation.protocol import evaluate_split, peak_mib
from kgnn.evaluation.splits import make_split
from kgnn.graphs.loading import load
from kgnn.kernels.projection import Projection
from kgnn.kernels.weisfeiler_lehman import WeisfeilerLehman
from kgnn.methods.kgnn import KGNN, MemoryNetwork
from kgnn.threads import limit_threads

# What is timed: an owner, the name of a function of it, and the stage that it belongs to.
STAGES: list[tuple[Any, str, str]] = [
    (WeisfeilerLehman, "fit_transform", "WL features"),
    (WeisfeilerLehman, "transform", "WL features"),
    (Projection, "fit", "projection"),
    (network, "batches_of", "graphs to colors"),
    (ColorBatches, "__getitem__", "cutting batches"),
    (GraphBatches, "__getitem__", "cutting batches"),
    (GIN, "forward", "GNN forward"),
    (MemoryNetwork, "forward", "memory forward"),
    (torch.Tensor, "backward", "backward"),
    (loop, "_step", "update"),
    (loop, "_average", "update"),
    (network, "log_likelihoods", "calibration"),
]


class Stopwatch:
    """CPU seconds by stage; a stage inside another one stops the other's clock."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._running = ["rest"]
        self._since = time.process_time()

    def _switch(self) -> None:
        now = time.process_time()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function with a clock around it."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self._switch()
            self._running.append(stage)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self._running.pop()

        return wrapped


def profile(name: str, protocol: str) -> dict[str, Any]:
    """Fit and evaluate KGNN once."""
    graphs = load(name)
    split = make_split(graphs, protocol=protocol, seed=0)
    watch = Stopwatch()
    for owner, function, stage in STAGES:
        setattr(owner, function, watch.timed(getattr(owner, function), stage))
    with limit_threads(1):
        evaluate_split(KGNN(random_state=0), graphs, split)
    watch.timed(lambda: None, "rest")()
    total = sum(watch.seconds.values())
    shares = {stage: 100 * watch.seconds[stage] / total for _, _, stage in STAGES}
    return {
        "dataset": graphs.name,
        "protocol": protocol,
        "CPU (s)": total,
        "peak (MiB)": round(peak_mib() or 0),
        **{f"{stage} %": round(share) for stage, share in shares.items()},
        "rest %": round(100 * watch.seconds["rest"] / total),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=PAPER)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/speed-fit.json"))
    chosen = parser.parse_args()
    rows = []
    for name, protocol in product(chosen.datasets, ("fair", "budget")):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as own_process:
            rows.append(own_process.submit(profile, name, protocol).result())
    show("One fit of KGNN and its predictions on TEST", rows)
    save(chosen.output, {"fit": rows})


if __name__ == "__main__":
    main()
