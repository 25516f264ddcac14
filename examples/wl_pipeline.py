"""Use Weisfeiler-Lehman features in a scikit-learn pipeline, and describe the best ones."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import kgnn


def main() -> None:
    graphs = kgnn.load("planted-motifs", n_graphs=400)
    train, test = graphs[:300], graphs[300:]
    pipeline = make_pipeline(
        kgnn.WeisfeilerLehman(min_df=3), LogisticRegression(C=1.0, max_iter=1000)
    )
    search = GridSearchCV(pipeline, {"weisfeilerlehman__iterations": [0, 1, 2]}, cv=4)
    search.fit(train, train.targets)
    print(search.best_params_, "accuracy", search.score(test, test.targets))

    wl, linear = search.best_estimator_
    for column in np.argsort(np.abs(linear.coef_[0]))[::-1][:5].tolist():
        weight = linear.coef_[0, column]
        name = graphs.class_names[int(weight > 0)]
        print(f"{weight:+.2f} in favor of {name}: {wl.describe(column, train)}")


if __name__ == "__main__":
    main()
