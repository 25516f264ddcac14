"""Break things on purpose: kill, fill the disk, flip bits, feed garbage; count what was lost.

::

    python benchmarks/faults.py            # all of it, with a table in the end
    python benchmarks/faults.py kills      # one kind: kills, disk, flips, models, readers
    python benchmarks/faults.py kills --only predict          # one row of its table
    python benchmarks/faults.py models readers --minutes 60   # new ones, for as long as you like

Run it in a checkout with the extras of development, as it uses the tests' strategies of damage. An
attempt *survives* if afterwards every file under its final name is whole (the old one or the new
one), the same command works again, and what it says is what an undisturbed run says; or if a
damaged input is refused by name. Anything else is *lost*.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from hypothesis import HealthCheck, Phase, given, seed, settings

import kgnn
import kgnn.methods.kgnn  # before processes are forked, so that none imports it
from kgnn.benchmark.record import Cell, Record
from kgnn.benchmark.store import Store
from kgnn.cli.main import main as main_of_kgnn
from kgnn.errors import KgnnError, KgnnWarning
from kgnn.estimator.registry import entries
from kgnn.estimator.saved_files import ModelFileError, pack, unpack
from kgnn.estimator.saving import open_model
from kgnn.graphs.datasets import cache
from kgnn.graphs.datasets.toy import cycles_and_trees
from kgnn.graphs.readers import jsonl
from kgnn.graphs.soundness import require_sound

_POINTS = 8  # calls of the layer among which a kill is put
_TO_PACK = 6  # records of each of two datasets
_SMALL_DISK = 400  # KiB
_SECONDS_TO_END = 10  # of the workers of a process that was killed
_ROUNDS = 20  # with --minutes, each kind has its turn with a part of its attempts


class Count(NamedTuple):
    """What became of the attempts of one kind."""

    what: str
    attempts: int
    survived: int
    losses: list[str]

    def __add__(self, other: tuple[object, ...]) -> Count:
        """Count the attempts of another run, too."""
        more = Count(*other)
        n, survived = self.attempts + more.attempts, self.survived + more.survived
        return Count(self.what, n, survived, self.losses + more.losses)

    def row(self) -> str:
        """Return a line of the table."""
        return f"| {self.what} | {self.attempts:,} | {self.survived:,} | {len(self.losses):,} |"


class Asked(NamedTuple):
    """How much is tried of one kind of damage, and what is drawn."""

    attempts: int
    seed: str
    only: str = ""  # rows of the table: those whose name has this text

    def tally(
        self, what: str, outcomes: Callable[[random.Random], Iterator[str | None]]
    ) -> Iterator[Count]:
        """Count one row, if it is wanted; what it draws does not depend on other rows."""
        if self.only in what:
            yield _count(what, outcomes(random.Random(f"{self.seed}, {what}")))


def _count(what: str, outcomes: Iterator[str | None]) -> Count:
    """Count outcomes: None for what survived, else what was lost."""
    attempts, losses, told = 0, list[str](), time.monotonic()
    for loss in outcomes:
        attempts += 1
        if loss is not None:
            losses.append(loss)
            print(f"LOST in {what}: {loss}", file=sys.stderr, flush=True)
        if time.monotonic() - told > 10:
            told = time.monotonic()
            print(f"{what}: {attempts} …", file=sys.stderr, flush=True)
    return Count(what, attempts, attempts - len(losses), losses)


# -- kills ----------------------------------------------------------------------------------------


class Job(NamedTuple):
    """A command that is killed, and how to tell what is there afterwards."""

    name: str
    command: str
    # Called with the folder: raises if anything under a final name is not whole.
    check: Callable[[Path], None]
    # Files that must be there, and their content once the command has run undisturbed.
    results: tuple[str, ...]
    share: float  # of the kills: a job that starts workers takes many times as long

    @property
    def words(self) -> list[str]:
        """The command, word by word."""
        return self.command.split()


_VOLATILE = re.compile(r'"(finished|seconds|cpu_seconds|peak_mib)": ("[^"]*"|[\d.e+-]+|null)')


def _content(path: Path) -> bytes:
    """Return what a file says, apart from times."""
    if path.suffix == ".safetensors":
        model = open_model(path)
        return model.predict_proba(model.labeled_graphs_).tobytes()
    if path.suffix == ".json":
        return _VOLATILE.sub("", path.read_text(encoding="utf-8")).encode()
    return path.read_bytes()


def _models_are_whole(folder: Path) -> None:
    for file in folder.rglob("[!.]*.safetensors"):
        open_model(file)


def _records_are_whole(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a record that cannot be read
        if (folder / "store").is_dir():
            list(Store(folder / "store"))


def _records_to_pack_are_there(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = len(list(Store(folder / "packed")))
    if found != 2 * _TO_PACK:
        raise ValueError(f"{found} of {2 * _TO_PACK} records are there")


def _table_is_whole(folder: Path) -> None:
    table = folder / "out.csv"
    if table.exists() and table.read_text(encoding="utf-8").count("\n") not in (2, 61):
        raise ValueError(f"{table} has {table.read_text().count(chr(10))} lines")


def _cache_is_whole(folder: Path) -> None:
    for entry in (folder / "cache" / "arrays").glob("[!.]*"):
        cache.open_folder(entry)


def _jobs(folder: Path) -> list[Job]:
    """Write what the commands need, with results of an earlier run to be replaced."""
    graphs = cycles_and_trees(60)
    jsonl.write(graphs, folder / "x.jsonl")
    (folder / "grid.toml").write_text(
        'title = "t"\nmethods = ["wl", "gk"]\ndatasets = ["cycles-and-trees"]\nsplits = 3\n'
    )
    kgnn.make("ldp").fit(graphs).save(folder / "model")
    kgnn.make("ldp").fit(graphs).save(folder / "asked")
    (folder / "out.csv").write_text("old\nold\n")
    tu = folder / "datasets" / "MUTAG"
    tu.mkdir(parents=True)
    (tu / "MUTAG_A.txt").write_text("1, 2\n2, 1\n" * 2000)
    (tu / "MUTAG_graph_indicator.txt").write_text("1\n1\n")
    (tu / "MUTAG_graph_labels.txt").write_text("1\n")
    for dataset, split in product(("A", "B"), range(_TO_PACK)):
        cell = Cell(dataset, f"of-{dataset}", "wl", seed=split)
        Store(folder / "packed").put(Record(cell, "declined", reason="not for me"))
    model, store = ("model/model.safetensors",), ("store",)
    trained = "fit x.jsonl --set n_jobs=2 --set epochs=2 --set rounds=1 -o model"
    return [
        Job("fit", "fit x.jsonl --method wl -o model", _models_are_whole, model, 0.25),
        Job("fit, KGNN, two workers", trained, _models_are_whole, model, 0.05),
        Job("predict", "predict asked x.jsonl -o out.csv", _table_is_whole, ("out.csv",), 0.25),
        Job("bench, two workers", "bench grid.toml -o store --workers 2", _records_are_whole, store,
            0.1),
        Job("bench, no workers", "bench grid.toml -o store --engine here", _records_are_whole,
            store, 0.1),
        Job("pack", "pack packed", _records_to_pack_are_there, ("packed",), 0.1),
        Job("caching", "similar MUTAG 0", _cache_is_whole, (), 0.15),
    ]  # fmt: skip


def _environment(folder: Path) -> dict[str, str]:
    own = {"KGNN_CACHE": str(folder / "cache"), "KGNN_DATASETS": str(folder / "datasets")}
    return {"OMP_NUM_THREADS": "1", **own}


def _strike_at(call_number: int, is_before: bool) -> None:
    """Put a layer before the file system that kills this process at the n-th call that writes."""
    left = call_number

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def counting(*args: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left == 0 and is_before:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*args, **options)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counting

    os.fsync = counted(os.fsync)  # type: ignore[assignment]
    for name in ("replace", "write_text", "write_bytes", "mkdir", "unlink"):
        setattr(Path, name, counted(getattr(Path, name)))


class Running:
    """A command in a process of its own, forked from this one: nothing is imported anew."""

    def __init__(self, folder: Path, words: list[str], *strike: int) -> None:
        self.told = folder.parent / "told"
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                os.chdir(folder)
                sink = os.open(self.told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(sink, 2)
                os.environ.update(_environment(folder))
                sys.argv[:] = ["kgnn", *words]
                if strike:
                    _strike_at(strike[0], bool(strike[1]))
                main_of_kgnn()
            except SystemExit as ended:
                os._exit(int(ended.code or 0))
            except BaseException:
                traceback.print_exc()
                os._exit(70)
            os._exit(0)

    def wait(self, seconds: float | None = None) -> int:
        """Return how the process ended; kill it after so many seconds."""
        deadline = time.monotonic() + (float("inf") if seconds is None else seconds)
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(0.002)


class _Process(NamedTuple):
    """A process that is still there."""

    pid: int
    seconds: float  # of a processor, in user and system mode
    waits: bool  # for a processor or a disk, on a machine that is busy


def _in_session(leader: int) -> list[_Process]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session, *more = stat.read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if session == str(leader) and state != "Z":
            seconds = (int(more[7]) + int(more[8])) / os.sysconf("SC_CLK_TCK")
            found.append(_Process(int(stat.parent.name), seconds, state in "RD"))
    return found


def _do_not_end(leader: int) -> list[_Process]:
    """Return the processes of a session that do not end; there is time for those on their way.

    They may sleep or compute for so long, and be kept waiting by a busy machine for longer.
    """
    idle, last = 0.0, time.monotonic()
    before = sum(each.seconds for each in _in_session(leader))
    while left := _in_session(leader):
        now = time.monotonic()
        idle += 0.0 if any(each.waits for each in left) else now - last
        last = now
        if max(idle, sum(each.seconds for each in left) - before) > _SECONDS_TO_END:
            break
        time.sleep(0.05)
    return left


def _results(folder: Path, job: Job) -> dict[str, bytes]:
    paths = [folder / name for name in job.results]
    files = [f for p in paths for f in (p.rglob("[!.]*.json*") if p.is_dir() else [p])]
    return {str(file.relative_to(folder)): _content(file) for file in files}


def kills(asked: Asked) -> Iterator[Count]:
    """Kill each command at random moments, and at the calls that write."""
    with tempfile.TemporaryDirectory() as place:
        start = Path(place) / "start"
        start.mkdir()
        for job in _jobs(start):
            n = round(asked.attempts * job.share)
            yield from asked.tally(f"kill {job.name}", partial(_killed, job, n, start))


def _killed(job: Job, n: int, start: Path, rng: random.Random) -> Iterator[str | None]:
    with tempfile.TemporaryDirectory() as place:
        whole = Path(shutil.copytree(start, Path(place) / "whole"))
        began = time.monotonic()
        running = Running(whole, job.words)
        if running.wait():
            raise RuntimeError(f"{job.name} fails undisturbed: {running.told.read_text()}")
        seconds, expected = time.monotonic() - began, _results(whole, job)
    n_killed = 0
    while n_killed < n:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(shutil.copytree(start, Path(place) / "tried"))
            if n_killed % 2:  # before or after a write, a flush or a rename
                strike = rng.randint(1, _POINTS), rng.randint(0, 1)
                where = f"{'before' if strike[1] else 'after'} call {strike[0]}"
                running = Running(folder, job.words, *strike)
                ended = running.wait()
            else:
                after = rng.uniform(0, 1) * seconds
                where = f"after {after:.3f} s"
                running = Running(folder, job.words)
                ended = running.wait(after)
            if ended == -signal.SIGKILL:  # else it was done before, and is tried again
                n_killed += 1
                yield _judged(job, folder, running.pid, expected, where)


def _judged(
    job: Job, folder: Path, leader: int, expected: dict[str, bytes], where: str
) -> str | None:
    """Say what was lost by a kill, if anything was."""
    if left := _do_not_end(leader):
        called = [Path(f"/proc/{each.pid}/cmdline").read_bytes()[-200:] for each in left]
        for each in left:
            os.kill(each.pid, signal.SIGKILL)
        return f"{job.name} {where}: processes did not end: {called}"
    try:
        job.check(folder)
        running = Running(folder, job.words)
        if running.wait():
            return f"{job.name} {where}: cannot run again: {running.told.read_text()[-300:]}"
        job.check(folder)
        found = _results(folder, job)
    except Exception as error:  # whatever a half-written file causes
        return f"{job.name} {where}: {error!r}"
    if found != expected:
        return f"{job.name} {where}: other results than undisturbed"
    return None


# -- a full disk ----------------------------------------------------------------------------------


@contextmanager
def _small_disk() -> Iterator[Path]:
    """Yield a folder on a disk of a few hundred KiB; needs the right to mount one."""
    with tempfile.TemporaryDirectory() as place:
        size = f"size={_SMALL_DISK}k"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", place], check=True)
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", place], check=True)


def full_disk(asked: Asked) -> Iterator[Count]:
    """Save models, records and graphs onto a disk that has too little room for them."""
    yield from asked.tally("write to a full disk", partial(_filled, asked.attempts))


def _filled(n: int, rng: random.Random) -> Iterator[str | None]:
    graphs = cycles_and_trees(60)
    small, large = kgnn.make("ldp", trees=3).fit(graphs), kgnn.make("ldp").fit(graphs)
    with _small_disk() as disk:
        file = small.save(disk / "model")
        old = file.read_bytes()
        for _ in range(n):
            filler = disk / "filler"
            room = shutil.disk_usage(disk).free
            filler.write_bytes(bytes(max(0, room - rng.randrange(4096, 1 << 15))))
            write = rng.choice([large.save, lambda path: jsonl.write(graphs, path / "x.jsonl")])
            with suppress(KgnnError, OSError):
                write(disk / "model")
            try:
                open_model(file)
                left = {each.name for each in file.parent.iterdir()}
                whole = left <= {"model.safetensors", "x.jsonl"}
                yield None if whole else f"a full disk left {sorted(left)}"
            except Exception as error:  # of a half-written file
                yield f"a full disk left a model that cannot be opened: {error!r}"
            for each in (filler, disk / "model" / "x.jsonl"):
                each.unlink(missing_ok=True)
            file.write_bytes(old)


# -- models ---------------------------------------------------------------------------------------


def _saved(folder: Path) -> list[Path]:
    from tests.estimator.test_fuzzed_models import saved

    return [saved(name, folder) for name in entries()]


def flips(asked: Asked) -> Iterator[Count]:
    """Flip one bit of a saved model at a time, of every method in turn."""
    with tempfile.TemporaryDirectory() as place:
        files = _saved(Path(place))
        yield from asked.tally("flip a bit of a model", partial(_flipped, asked.attempts, files))


def _flipped(n: int, files: list[Path], rng: random.Random) -> Iterator[str | None]:
    for attempt in range(n):
        file = files[attempt % len(files)]
        content = file.read_bytes()
        place, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
        file.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        try:
            open_model(file)
            yield f"{file.name} opens with bit {bit} of byte {place} flipped"
        except ModelFileError as error:
            yield None if str(file) in str(error) else f"{error} does not name its file"
        except Exception as error:  # a traceback
            yield f"{file.name}: {error!r}"
        file.write_bytes(content)


def models(asked: Asked) -> Iterator[Count]:
    """Open models of every method with an entry that was removed, added, retyped or reshaped."""
    with tempfile.TemporaryDirectory() as place:
        files = _saved(Path(place))
        yield from asked.tally("craft a model", partial(_crafted, asked.attempts, files))


def _crafted(n: int, files: list[Path], rng: random.Random) -> Iterator[str | None]:
    from tests.estimator.model_mutations import mutated
    from tests.estimator.test_fuzzed_models import opens

    draw = np.random.default_rng(rng.randrange(1 << 32))
    contents = [unpack(file.read_bytes()) for file in files]
    for attempt in range(n):
        file, content = files[attempt % len(files)], contents[attempt % len(files)]
        what, (header, arrays) = mutated(content, draw)
        file.write_bytes(pack(header, arrays))
        try:
            opens(file)  # or refuses it by name; what opens must work
            yield None
        except Exception as error:  # a traceback, or a wrong answer
            yield f"{file.name}, {what}: {error!r}"


# -- readers --------------------------------------------------------------------------------------


def readers(asked: Asked) -> Iterator[Count]:
    """Read damaged files of every format, as the tests do for fewer."""
    from tests.graphs.test_fuzzed_readers import CASES

    kinds: dict[str, list[str]] = {}
    for name in CASES:
        kinds.setdefault(name.removeprefix("bare-").partition("-")[0], []).append(name)
    for kind, names in kinds.items():
        cases = [CASES[name] for name in names]
        yield from asked.tally(f"damage: {kind}", partial(_damaged, asked.attempts, cases))


def _damaged(n: int, cases: list[Any], rng: random.Random) -> Iterator[str | None]:
    from tests.graphs.mutations import mutated
    from tests.graphs.test_fuzzed_readers import attempt

    share = -(-n // len(cases))
    for case in cases:
        with tempfile.TemporaryDirectory() as place:
            folder, outcomes = Path(place), list[str | None]()

            def read(content: bytes) -> None:
                try:
                    graphs = attempt(case, folder, content)  # noqa: B023
                    if graphs is not None:
                        require_sound(graphs)
                    outcomes.append(None)  # noqa: B023
                except Exception as error:  # a traceback, or an error that names no file
                    told = f"{case.changed}: {error!r} for {content[:200]!r}"  # noqa: B023
                    outcomes.append(told)  # noqa: B023

            endless = settings(
                max_examples=share, deadline=None, database=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            drawn = given(mutated(case.files[case.changed]))(read)
            seed(rng.randrange(1 << 32))(endless(drawn))()
            yield from outcomes


_KINDS = {
    "kills": (kills, 200),
    "disk": (full_disk, 100),
    "flips": (flips, 1_000),
    "models": (models, 2_000),
    "readers": (readers, 10_000),
}


def main() -> None:
    """Run what was asked for and print a table; fail if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(_KINDS)}; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="rows of the table that have this in their name")
    parser.add_argument("--minutes", type=float, help="go on with new seeds for so long")
    for name, (_, number) in _KINDS.items():
        parser.add_argument(f"--{name}", type=int, default=number, help=f"attempts of {name}")
    asked = parser.parse_args()
    if unknown := set(asked.kinds) - set(_KINDS):
        parser.error(f"there is no {', '.join(unknown)}, only {', '.join(_KINDS)}")
    warnings.simplefilter("ignore", KgnnWarning)
    counts: dict[str, Count] = {}
    print("| what | attempts | survived | lost |\n| --- | ---: | ---: | ---: |", flush=True)
    for count in _run(asked):
        if asked.minutes is None:
            print(count.row(), flush=True)
        counts[count.what] = counts[count.what] + count if count.what in counts else count
    if asked.minutes is not None:
        print("\n".join(each.row() for each in counts.values()))
    sys.exit(any(count.losses for count in counts.values()))


def _run(asked: argparse.Namespace) -> Iterator[Count]:
    """Yield the counts of what was asked for, once or with new seeds until the time is over."""
    kinds = asked.kinds or list(_KINDS)
    if asked.minutes is None:
        for name in kinds:
            yield from _KINDS[name][0](Asked(getattr(asked, name), str(asked.seed), asked.only))
        return
    start = time.monotonic()
    for number, name in enumerate(cycle(kinds)):
        n = -(-getattr(asked, name) // _ROUNDS)
        for count in _KINDS[name][0](Asked(n, f"{asked.seed}, {number}", asked.only)):
            yield count
            minutes = (time.monotonic() - start) / 60
            if minutes >= asked.minutes:
                return
        print(f"{minutes:.1f} of {asked.minutes:g} minutes", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
