import numpy as np
import pytest
import torch

from kgnn.engine.loop import batches, checkpoint_epochs, recompute_bn_stats, train
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


def test_checkpoints_are_at_equal_distances_and_the_last_one_is_the_end():
    seen = []
    module, history = fit_line(checkpoints=4, at_checkpoint=lambda m: seen.append(m.weight.item()))
    assert len(seen) == 4
    every = []
    fit_line(checkpoints=60, at_checkpoint=lambda m: every.append(m.weight.item()))
    assert seen == [every[epoch] for epoch in (14, 29, 44, 59)]
    assert module.weight.item() == seen[-1]
    assert history.best_epoch == 59


@pytest.mark.parametrize(("epochs", "checkpoints"), [(1, 1), (1, 10), (7, 3), (40, 10), (50, 7)])
def test_checkpoints_are_distinct_epochs_at_most_as_many_as_asked(epochs, checkpoints):
    chosen = checkpoint_epochs(epochs, checkpoints)
    assert len(chosen) == min(epochs, checkpoints)
    assert chosen[-1] == epochs - 1
    gaps = np.diff([-1, *chosen])
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1


def test_ctrl_c_keeps_the_complete_epochs_as_a_last_checkpoint():
    def stop(what, done, total):
        if done == 20:
            raise KeyboardInterrupt

    seen = []
    with listening(stop):
        module, history = fit_line(
            checkpoints=4, at_checkpoint=lambda m: seen.append(m.weight.item())
        )
    assert history.interrupted
    assert len(history.loss) == history.best_epoch + 1 == 20
    assert len(seen) == 2  # after 15 epochs, and after all that there are
    assert module.weight.item() == seen[-1]


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
        checkpoints=30,
        at_checkpoint=lambda averaged: path.append((module.weight.item(), averaged.weight.item())),
    )
    expected = path[0][0]
    for step, (current, averaged) in enumerate(path):
        if step:
            share = min(0.8, (1 + step) / (10 + step))
            expected = share * expected + (1 - share) * current
        assert averaged == pytest.approx(expected, abs=1e-6)
    assert module.weight.item() == path[-1][1] != path[-1][0]


def test_the_module_is_finished_before_each_checkpoint():
    finished, shown = [], []
    fit_line(finish=finished.append)
    assert len(finished) == 1
    finished.clear()

    def show(module):
        assert finished[-1] is module
        shown.append(len(finished))

    fit_line(finish=finished.append, checkpoints=6, at_checkpoint=show)
    assert shown == [1, 2, 3, 4, 5, 6]


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
