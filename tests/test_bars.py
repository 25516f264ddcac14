import io

from rich.console import Console

from kgnn.bars import progress_bars
from kgnn.progress import tell, track


def test_long_work_has_a_bar_with_its_total_and_short_work_has_none(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    clock = iter(range(1000))
    monkeypatch.setattr("kgnn.bars.time.monotonic", lambda: next(clock))
    with progress_bars(console=console) as shown:
        for _ in track(range(9), "training"):
            pass
        assert not shown.tasks  # done
        working = track(range(9), "predicting")
        for _ in range(5):
            next(working)
        [task] = shown.tasks
        assert (task.description, task.completed, task.total) == ("predicting", 4, 9)
    assert "predicting" in console.file.getvalue()


def test_work_without_a_total_shows_the_share_of_what_it_is_made_of():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with progress_bars(console=console) as shown:
        whole = shown.add_task("fitting", total=None)
        for number in track(range(4), "rounds"):
            assert shown.tasks[whole].percentage == 25 * number
            for _ in track(range(5), "epochs"):
                pass
            if number == 2:
                for _ in track(range(5), "epochs"):
                    break  # stopping early leaves no bar behind
                break
        assert [(task.description, task.percentage) for task in shown.tasks] == [("fitting", 99)]


def test_a_file_gets_news_alone():
    console = Console(file=io.StringIO(), width=120)
    with progress_bars(news=True, console=console):
        for _ in track(range(3), "training"):
            tell("round 1: done")
            break
    assert console.file.getvalue() == "round 1: done\n"
