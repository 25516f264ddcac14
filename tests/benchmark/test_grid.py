import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from kgnn.benchmark.grid import FOLDERS, MOST_LABELS, Grid, GridError, grid_names
from kgnn.benchmark.store import Store
from kgnn.errors import KgnnError, ParameterError, UnknownNameError
from kgnn.estimator.registry import make
from kgnn.evaluation.splits import make_split
from kgnn.graphs.loading import load
from kgnn.methods.kgnn import KGNN
from tests.graphs.mutations import mutated

VALUES = {"title": "a grid", "methods": ["wl", "gnn-sup"], "datasets": ["MUTAG", "PTC_MR"]}


def cells(**values):
    grid = Grid.of("g", {**VALUES, **values})
    return list(grid.cells({name: name for name in grid.datasets}))


@pytest.mark.parametrize("path", sorted(FOLDERS[1].glob("*.toml")), ids=lambda path: path.stem)
def test_every_grid_that_comes_along_can_run(path):
    grid = Grid.load(path.stem)
    assert grid == Grid.load(str(path))
    found = list(grid.cells({name: name for name in grid.datasets}))
    assert found
    assert len({cell.key for cell in found}) == len(found)
    assert path.stem in grid_names()


def test_a_grid_is_the_product_of_what_it_lists():
    found = cells(labels=[0.05, 0.1], splits=2, **{"splits-of": {"MUTAG": 3}})
    assert len(found) == 2 * 2 * (2 + 3)
    assert {cell.seed for cell in found if cell.dataset == "PTC_MR"} == {0, 1}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"method": ["wl"]}, UnknownNameError, "There is no key of a grid .*Did you mean methods"),
        ({"methods": ["wll"]}, UnknownNameError, "'wll'. Did you mean wl"),
        ({"methods": "wl"}, GridError, "'methods' must be a list of names, got 'wl'"),
        ({"methods": []}, GridError, "has no 'methods'"),
        ({"labels": 0.1}, GridError, "'labels' must be a list of shares"),
        ({"labels": [10.0]}, ParameterError, r"at most 0.2 \(TRAIN-L\), got 10.0"),
        ({"labels": [0.1, 0.5]}, ParameterError, r"at most 0.2 \(TRAIN-L\), got 0.5"),
        ({"labels": [20]}, ParameterError, "got 20. A number of labels needs .*'budget'"),
        ({"labels": [True]}, GridError, "'labels' must be a list of shares"),
        ({"labels": [0.9], "protocol": "budget"}, ParameterError, "below 0.8 .*, got 0.9"),
        ({"labels": ["5"], "protocol": "budget"}, ParameterError, "such as 5/class, got 5"),
        ({"metric": "auc"}, UnknownNameError, "There is no metric 'auc'. Did you mean roc_auc"),
        ({"labels": []}, GridError, "'labels' must be a list of shares"),
        ({"splits": 0}, GridError, "'splits' must be a number from 1, got 0"),
        ({"splits-of": {"MUTAGG": 3}}, UnknownNameError, "'MUTAGG'. Did you mean MUTAG"),
        ({"splits-of": {"MUTAG": 0}}, GridError, "'splits-of' must be a table of numbers from 1"),
        ({"cases": 2}, GridError, "but 'wl' does not have both"),
        ({"methods": ["kgnn", "gnn-self"], "cases": 2}, GridError, "'gnn-self' does not have both"),
        ({"methods": ["memnn-sup"], "cases": 2}, GridError, "'memnn-sup' does not have both"),
        ({"protocol": "mine"}, ParameterError, "must be one of .*got 'mine'"),
        ({"sweep": {"depth": [1]}}, UnknownNameError, "There is no parameter of WL 'depth'"),
        ({"sweep": {"epochs": 3}}, GridError, "'sweep' must be a table of lists"),
        ({"sweep": {"epochs": []}}, GridError, "lists, each of one value or more, got"),
        (
            {"methods": ["gnn-sup"], "sweep": {"epochs": [5, -1]}},
            ParameterError,
            "'epochs' parameter of GNNSup must be .*, got -1",
        ),
        ({"variants": []}, GridError, "'variants' must be a list of tables"),
        ({"variants": {"hops": 1}}, GridError, "'variants' must be a list of tables"),
        ({"variants": [{"depth": 1}]}, UnknownNameError, "no parameter of WL 'depth'"),
        ({"rule": [{"set": {"depth": 1}}]}, UnknownNameError, "no parameter of WL 'depth'"),
        ({"rule": [{"methods": ["wl"]}]}, GridError, "a rule needs 'set'"),
        ({"rule": [{"methods": ["sp"], "set": {}}]}, UnknownNameError, "'sp'. .*gnn-sup, wl"),
        ({"rule": {"set": {}}}, GridError, r"written \[\[rule\]\]"),
    ],
)
def test_what_cannot_run_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        Grid.of("g", {**VALUES, **values})


def test_as_many_labels_may_be_asked_for_as_a_split_has():
    [*_, last] = cells(labels=[MOST_LABELS])
    graphs = load("cycles-and-trees")
    assert make_split(graphs, labels=last.labels).labels == MOST_LABELS
    with pytest.raises(ParameterError, match="at most 0.2"):
        make_split(graphs, labels=math.nextafter(MOST_LABELS, 1))


def test_cases_are_kept_of_what_has_both_networks():
    found = cells(methods=["kgnn", "kgnn-sep"], cases=2)
    assert {(cell.method, cell.cases) for cell in found} == {("kgnn", 2), ("kgnn-sep", 2)}


def test_files_that_are_no_grids_are_refused(tmp_path: Path):
    (tmp_path / "bad.toml").write_text("title = ")
    with pytest.raises(GridError, match="bad.toml is not TOML"):
        Grid.load(str(tmp_path / "bad.toml"))
    with pytest.raises(KgnnError, match="There is no grid file"):
        Grid.load("none.toml")
    with pytest.raises(UnknownNameError, match="Did you mean table2"):
        Grid.load("table-2")


def test_a_default_that_is_written_out_is_the_same_cell():
    plain = cells(methods=["kgnn"])
    swept = cells(methods=["kgnn"], sweep={"hops": [1, 3, 5]})
    assert {cell.key for cell in plain} < {cell.key for cell in swept}
    assert len(swept) == 3 * len(plain)


def test_what_is_listed_twice_is_one_cell():
    twice = cells(methods=["kgnn", "kgnn"], sweep={"hops": [3, 5, 5]})
    assert len(twice) == len(cells(methods=["kgnn"], sweep={"hops": [3, 5]}))
    grid = Grid.of("g", {**VALUES, "datasets": ["IMDB-B", "IMDB-BINARY"]})
    assert {cell.dataset for cell in grid.cells({"IMDB-BINARY": "a3"})} == {"IMDB-BINARY"}


def test_a_dataset_may_have_any_of_its_names_anywhere_in_a_grid():
    rule = {"datasets": ["IMDB-B"], "set": {"hops": 2}}
    values = {"datasets": ["IMDB-B"], "splits-of": {"imdb-binary": 2}, "rule": [rule]}
    grid = Grid.of("g", {**VALUES, "methods": ["kgnn"], **values})
    found = list(grid.cells({"IMDB-BINARY": "a3"}))
    assert [(cell.seed, cell.parameters) for cell in found] == [(0, {"hops": 2}), (1, {"hops": 2})]


def test_rules_set_parameters_of_their_cells_and_the_sweep_wins():
    found = cells(
        methods=["kgnn", "memnn-sup"],
        sweep={"hops": [2]},
        rule=[
            {"set": {"width": 8, "hops": 5}},
            {"datasets": ["MUTAG"], "methods": ["kgnn"], "set": {"width": 16}},
        ],
    )
    widths = {(cell.method, cell.dataset): cell.parameters["width"] for cell in found}
    assert widths.pop(("kgnn", "MUTAG")) == 16
    assert set(widths.values()) == {8}
    assert {cell.parameters["hops"] for cell in found} == {2}


def test_variants_are_run_one_after_the_other():
    found = cells(
        methods=["kgnn"],
        datasets=["MUTAG"],
        splits=1,
        variants=[{}, {"width": 8}, {"dimensions": "None", "balanced": False}],
        sweep={"hops": [2, 3]},
    )
    assert [cell.parameters for cell in found] == [
        {"hops": 2},
        {},
        {"width": 8, "hops": 2},
        {"width": 8},
        {"dimensions": None, "balanced": False, "hops": 2},
        {"dimensions": None, "balanced": False},
    ]


def test_the_paper_s_choices_are_measured_one_by_one_and_together():
    grid = Grid.load("choices")
    found = [cell.parameters for cell in grid.cells({name: name for name in grid.datasets})]
    ours = KGNN().get_params()
    differences = {k: v for k, v in KGNN.paper().get_params().items() if v != ours[k]}
    paper = json.loads(json.dumps(differences))  # as cells have them
    assert paper in found
    for name, value in paper.items():
        if name in ("cross_fit", "use_node_attributes", "use_edge_labels"):
            continue  # they change nothing where there is VAL, and on the paper's datasets
        assert {name: value} in found


def test_a_part_of_a_grid_has_the_same_cells():
    grid = Grid.of("g", VALUES)
    part = grid.only(method=["WL"], dataset=["mutag"])
    assert (part.methods, part.datasets) == (("wl",), ("MUTAG",))
    keys = {cell.key for cell in cells()}
    assert {cell.key for cell in part.cells({"MUTAG": "MUTAG"})} < keys
    with pytest.raises(UnknownNameError, match="There is no method of the grid 'g' 'sp'"):
        grid.only(method=["sp"])
    with pytest.raises(UnknownNameError, match="There is no part of a grid 'split'"):
        grid.only(split=["1"])


def test_every_grid_goes_into_the_package():
    root = Path(__file__).parents[2]
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    for path in (root / "benchmarks").glob("*.toml"):
        assert f'"benchmarks/{path.name}" = "kgnn/benchmark/grids/{path.name}"' in text


FILE = b"""\
title = "T"
methods = ["wl"]
datasets = ["PROTEINS", "MUTAG"]
labels = [0.1, 0.2]
protocol = "fair"
splits = 3
splits-of = { PROTEINS = 2 }

[sweep]
counts = [["log"], ["raw"]]

[[rule]]
datasets = ["MUTAG"]
set = { iterations = [1, 2] }
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"splits = 3", b"splits = " + b"9" * 5000, "is not TOML: Exceeds the limit"),
        (b"splits = 3", b"splits = " + b"[" * 5000, "is not TOML"),
        (b'"T"', b'"\xff"', "is not TOML"),
        (b"fair", b"fare", "The 'protocol' must be one of"),
        (b"[1, 2]", b"[1, -2]", "The 'iterations' parameter of WL must be"),
        (b"counts", b"count", "There is no parameter of WL 'count'. Did you mean counts"),
    ],
)
def test_a_bad_file_is_named(tmp_path, old, new, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(FILE.replace(old, new))
    with pytest.raises(KgnnError, match=f"mine.toml.*{message}"):
        Grid.load(str(path))


def test_a_byte_order_mark_does_no_harm(tmp_path):
    for name, mark in (("plain", b""), ("marked", b"\xef\xbb\xbf")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "g.toml").write_bytes(mark + FILE)
    plain, marked = (Grid.load(str(tmp_path / name / "g.toml")) for name in ("plain", "marked"))
    assert plain == marked


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=mutated(FILE))
def test_a_damaged_file_is_refused_by_name_or_can_run(tmp_path, content):
    path = tmp_path / "g.toml"
    path.write_bytes(content)
    try:
        grid = Grid.load(str(path))
    except KgnnError as error:
        told = str(error)
        assert str(path) in told
    else:
        assert next(grid.cells({name: name for name in grid.datasets}), None)


def test_a_preset_is_the_methods_own_and_is_written_out_in_the_cell():
    variants = [{"preset": "paper"}, {"preset": "paper", "width": 64}]
    found = cells(methods=["kgnn"], datasets=["MUTAG"], splits=1, variants=variants)
    plain, wide = (_as_given(cell.parameters) for cell in found)
    assert "preset" not in plain
    assert make("kgnn", **plain).get_params() == KGNN.paper().get_params()
    assert make("kgnn", **wide).get_params() == KGNN.paper(width=64).get_params()


def test_a_preset_that_a_method_does_not_have_is_refused():
    with pytest.raises(ParameterError, match="WL has no preset 'paper'"):
        cells(methods=["wl"], variants=[{"preset": "paper"}])
    with pytest.raises(UnknownNameError, match="preset"):
        cells(methods=["kgnn"], variants=[{"preset": "papr"}])


def _as_given(parameters):
    return {k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()}


def test_a_method_of_a_file_has_the_revision_that_it_says(tmp_path):
    file = tmp_path / "own_method.py"
    file.write_text(
        "from kgnn.methods.wl_linear import WLLinear\n\nclass Own(WLLinear):\n    revision = 3\n"
    )
    cell, *_ = cells(methods=[f"{file}:Own"])
    assert cell.revision == 3
    assert Store(tmp_path).path(cell).name == f"Own-0-{cell.key}.json"
    with pytest.raises(UnknownNameError, match="'Owl'. Did you mean Own"):
        cells(methods=[f"{file}:Owl"])
