import pytest

from kgnn.progress import checking, listening, track


def test_what_a_check_raises_ends_the_work_and_its_bar():
    heard, allowed = [], 3

    def check():
        if len(heard) > allowed:
            raise TimeoutError

    with listening(lambda *report: heard.append(report)):
        with pytest.raises(TimeoutError), checking(check):
            list(track(range(10), "counting"))
        list(track([], "afterwards"))
    assert heard == [
        *(("counting", done, 10) for done in range(4)),
        ("counting", 10, 10),
        ("afterwards", 0, 0),
    ]


def test_a_check_needs_no_listener():
    with pytest.raises(ZeroDivisionError), checking(lambda: 1 // 0):
        list(track("ab", "spelling"))
