"""What other libraries expect of ours: scikit-learn's own checks, joblib, pandas, PyG."""

from __future__ import annotations

import io
from collections import defaultdict

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import kgnn
from kgnn.estimator.registry import entries, method_class
from kgnn.graphs.datasets.toy import cycles_and_trees, planted_motifs
from kgnn.kernels import KERNELS, make_kernel

# Why a check of scikit-learn cannot be run: each of these passes arrays of numbers to fit, and a
# graph is none. `kgnn.testing.check_method` has the same promises for graphs.
_ON_ARRAYS = {
    "check_array_api_input",
    "check_class_weight_classifiers",
    "check_classifier_data_not_an_array",
    "check_classifier_multioutput",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_regression_target",
    "check_classifiers_train",
    "check_complex_data",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_non_transformer_estimators_n_iter",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_requires_y_none",
    "check_supervised_y_2d",
    "check_supervised_y_no_nan",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
}


def _checks(estimator):
    """Yield scikit-learn's checks of an estimator, as if it took arrays."""
    cls = type(estimator)
    tags = cls.__sklearn_tags__

    def as_if(self):
        found = tags(self)
        found.input_tags.two_d_array = True
        return found

    # A class of the same name, which is what the checks look at.
    taking_arrays = type(cls.__name__, (cls,), {"__sklearn_tags__": as_if, "__doc__": cls.__doc__})
    for _, check in estimator_checks_generator(taking_arrays(), legacy=True, mark=None):
        yield check


@pytest.mark.parametrize("name", [*KERNELS, *entries()])
def test_scikit_learns_own_checks_pass_where_they_apply(name):
    estimator = method_class(name)() if name in entries() else make_kernel(name)
    failed, n_passed = defaultdict(str), 0
    for check in _checks(estimator):
        called = check.func.__name__
        if called in _ON_ARRAYS:
            continue
        try:
            check(clone(estimator))
            n_passed += 1
        except pytest.skip.Exception:
            raise
        except Exception as error:
            failed[called] = f"{type(error).__name__}: {error}"
    assert not failed
    assert n_passed >= 10


def test_a_kernel_fits_into_a_pipeline_that_is_searched_in_processes():
    graphs = cycles_and_trees(30)
    pipeline = make_pipeline(kgnn.WeisfeilerLehman(), LogisticRegression(max_iter=500))
    search = GridSearchCV(pipeline, {"weisfeilerlehman__iterations": [0, 1]}, cv=2, n_jobs=2)
    assert search.fit(graphs, graphs.targets).best_score_ > 0.8
    assert search.best_estimator_.predict(graphs[:2]).shape == (2,)


def test_a_method_can_be_stored_by_joblib_and_used_in_its_processes():
    graphs = cycles_and_trees(30)
    model = kgnn.WL(iterations=(1,), committee=1).fit(graphs)
    stored = io.BytesIO()
    joblib.dump(model, stored)
    stored.seek(0)
    expected = model.predict_proba(graphs)
    assert (joblib.load(stored).predict_proba(graphs) == expected).all()
    runs = joblib.Parallel(n_jobs=2)(
        joblib.delayed(model.predict_proba)(graphs[rows]) for rows in (slice(0, 15), slice(15, 30))
    )
    np.testing.assert_allclose(np.concatenate(runs), expected, atol=1e-12)


def test_answers_can_be_cross_validated_with_folds_of_scikit_learn():
    graphs = planted_motifs(30, n_nodes=10)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = kgnn.WL(iterations=(1,), committee=1, cross_fit=0)
    proba = cross_val_predict(model, graphs, graphs.targets, cv=folds, method="predict_proba")
    assert proba.shape == (30, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_a_data_frame_of_molecules_goes_in_and_answers_go_out(dtype):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("rdkit")
    chains = ["C" * n for n in range(2, 12)]
    rings = [f"C1{'C' * n}C1" for n in range(1, 11)]
    table = pd.DataFrame(
        {"smiles": chains + rings, "kind": ["chain"] * 10 + ["ring"] * 10},
        index=[f"m{number}" for number in range(20)],
    ).sample(frac=1, random_state=0)
    table["known"] = table["kind"].where(np.arange(20) % 2 == 0).astype(dtype)
    graphs = kgnn.from_smiles(table["smiles"])
    model = kgnn.WL(iterations=(1,)).fit(graphs, table["known"])
    table["answer"] = model.predict(graphs)
    answers = pd.DataFrame(model.predict_proba(graphs), table.index, model.classes_)
    assert (table["answer"] == table["kind"]).all()
    assert answers.columns.tolist() == ["chain", "ring"]
    assert (answers.idxmax(axis=1) == table["kind"]).all()


def test_a_dataset_of_pyg_and_what_its_loader_yields_are_graphs(tmp_path):
    geometric = pytest.importorskip("torch_geometric")
    from torch_geometric.loader import DataLoader

    class InMemory(geometric.data.InMemoryDataset):
        def __init__(self):
            super().__init__(str(tmp_path))
            self.data, self.slices = self.collate(kgnn.to_pyg(cycles_and_trees(30)))

    dataset = InMemory()
    graphs = kgnn.from_pyg(dataset)
    assert graphs.fingerprint == kgnn.from_pyg([*dataset]).fingerprint
    model = kgnn.WL(iterations=(1,), committee=1).fit(dataset)
    shuffled = dataset.shuffle()
    assert model.score(shuffled[:10]) == 1
    batches = DataLoader(kgnn.to_pyg(graphs), batch_size=8)
    answers = [model.predict(batch.to_data_list()) for batch in batches]
    assert np.concatenate(answers).tolist() == model.predict(graphs).tolist()
