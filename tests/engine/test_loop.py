import numpy as np
import pytest
import torch

from kgnn.engine.loop import batches, recompute_bn_stats, train
from kgnn.progress import listening


@pytest.mark.parametrize(
    ("n", "sizes"), [(1, [1]), (5, [5]), (32, [32]), (33, [33]), (34, [32, 2]), (70, [32, 32, 6])]
)
def test_batches_cover_all_rows_once_and_leave_none_alone(n, sizes):
    parts = list(batches(np.arange(n), 32, np.random.default_rng(0)))
    assert [len(part) for part in parts] == sizes
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))


def fit_line(**options):
    torch.manual_seed(0)
    module = torch.nn.Linear(1, 1)
    x = torch.linspace(-1, 1, 64)[:, None]
    history = train(
        module,
        lambda rows: ((module(x[rows]) - 3 * x[rows]) ** 2).mean(),
        np.arange(64),
        epochs=60,
        batch_size=16,
        learning_rate=0.05,
        weight_decay=0.0,
        averaging=0.0,
        rng=np.random.default_rng(0),
        **options,
    )
    return module, history


def test_the_loss_falls_and_the_line_is_found():
    module, history = fit_line()
    assert history.loss[-1] < 1e-3 < history.loss[0]
    assert module.weight.item() == pytest.approx(3, abs=0.05)
    assert not module.training


def test_the_weights_of_the_best_epoch_are_kept():
    scores = iter([0.1, 0.9, 0.9, 0.2] + [0.0] * 56)
    seen = []

    def score(judged):
        seen.append(judged.weight.item())
        return next(scores)

    torch.manual_seed(0)
    module = torch.nn.Linear(1, 1)
    x = torch.ones(8, 1)
    history = train(
        module,
        lambda rows: (module(x[rows]) ** 2).mean(),
        np.arange(8),
        epochs=60,
        batch_size=4,
        learning_rate=0.01,
        weight_decay=0.0,
        averaging=0.0,
        rng=np.random.default_rng(0),
        score=score,
    )
    assert history.best_epoch == 1
    assert module.weight.item() == seen[1]


def test_progress_is_reported():
    reports = []
    with listening(lambda *report: reports.append(report)):
        fit_line(what="fitting a line")
    assert reports[0] == ("fitting a line", 0, 60)
    assert reports[-1] == ("fitting a line", 60, 60)


def test_weights_are_averaged_over_steps():
    path = []
    module = torch.nn.Linear(1, 1, bias=False)
    x = torch.ones(8, 1)
    train(
        module,
        lambda rows: (module(x[rows]) ** 2).mean(),
        np.arange(8),
        epochs=30,
        batch_size=8,
        learning_rate=0.05,
        weight_decay=0.0,
        averaging=0.8,
        rng=np.random.default_rng(0),
        finish=lambda averaged: None,
        score=lambda averaged: (
            path.append((module.weight.item(), averaged.weight.item())) or len(path)
        ),
    )
    expected = path[0][0]
    for step, (current, averaged) in enumerate(path):
        if step:
            share = min(0.8, (1 + step) / (10 + step))
            expected = share * expected + (1 - share) * current
        assert averaged == pytest.approx(expected, abs=1e-6)
    assert module.weight.item() == path[-1][1] != path[-1][0]


def test_the_module_is_finished_before_it_is_judged_and_at_the_end():
    finished = []
    fit_line(finish=finished.append)
    assert len(finished) == 1
    fit_line(finish=finished.append, score=lambda module: float(finished[-1] is module))
    assert len(finished) == 61


def test_statistics_become_those_of_the_data_and_training_goes_on_as_before():
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    data = torch.randn(100, 2) * 3 + 5
    recompute_bn_stats(module, lambda m: m(data))
    norm = module[0]
    torch.testing.assert_close(norm.running_mean, data.mean(0))
    torch.testing.assert_close(norm.running_var, data.var(0))
    assert norm.momentum == 0.1
    assert not module.training


def test_several_passes_are_averaged():
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(1))
    parts = [torch.randn(50, 1) + shift for shift in (0, 4)]
    recompute_bn_stats(module, lambda m: [m(part) for part in parts])
    expected = torch.stack([part.mean(0) for part in parts]).mean(0)
    torch.testing.assert_close(module[0].running_mean, expected)
