"""`scipy.spatial` in programs that are read: values are SciPy's, gradients are proved against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import KDTree, cKDTree, distance

import bridge
from bridge.errors import RefusedError

RNG = np.random.default_rng(0)
POINTS, OTHERS = RNG.random((4, 3)) + 0.1, RNG.random((5, 3)) + 0.1
WEIGHTS = np.array([0.5, 2.0, 1.0])
METRICS = [
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "canberra",
    "braycurtis", "seuclidean", "mahalanobis",
]  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_distances(metric: str) -> None:
    def program(a: Any, b: Any) -> Any:
        return np.sum(distance.cdist(a, b, metric) ** 2) + np.sum(distance.pdist(b, metric) ** 2)

    bridge.check_gradient(program, (0, 1))(POINTS, OTHERS)


@pytest.mark.parametrize("metric", METRICS[:-2])
def test_distances_of_vectors_with_weights(metric: str) -> None:
    def program(u: Any, v: Any, w: Any) -> Any:
        return getattr(distance, metric)(u, v, w=w) + np.sum(distance.cdist(u[None], v[None], metric, w=w))

    bridge.check_gradient(program, (0, 1, 2))(POINTS[0], OTHERS[0], WEIGHTS)


@pytest.mark.parametrize("zeros", ["strong", "ieee"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_distance_of_a_point_to_itself_adds_nothing(metric: str, zeros: Any) -> None:
    points = np.concatenate([OTHERS, OTHERS[:1]])
    rest = np.triu(np.ones((6, 6)), 1)
    rest[0, 5] = 0

    def whole(p: Any) -> Any:
        return np.sum(distance.cdist(p, p, metric))

    def apart(p: Any) -> Any:
        return 2 * np.sum(distance.cdist(p, p, metric) * rest)

    found = bridge.grad(whole, zeros=zeros)(points)
    assert_allclose(found, bridge.grad(apart)(points), atol=1e-12)


def test_a_metric_of_the_program_is_read() -> None:
    scale = np.array([1.0, 2.0, 3.0])

    def program(p: Any, scale: Any) -> Any:
        def metric(u: Any, v: Any) -> Any:
            return np.sum(scale * (u - v) ** 2)

        return np.sum(distance.cdist(p, p, metric)) + np.sum(distance.pdist(p, metric) ** 2)

    bridge.check_gradient(program, (0, 1))(POINTS, scale)


def test_squareform() -> None:
    def program(p: Any) -> Any:
        square = distance.squareform(distance.pdist(p))
        return np.sum(square**2 * np.arange(4)) + np.sum(distance.squareform(square) ** 3)

    bridge.check_gradient(program)(POINTS)
    assert_allclose(bridge.grad(program, engine="xla")(POINTS), bridge.grad(program)(POINTS))
    for engine in ("native", "xla"):
        with pytest.raises(ValueError, match="must be symmetric"):
            bridge.grad(lambda m: np.sum(distance.squareform(m)), engine=engine)(np.array([[0, 1.0], [2, 0]]))


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_compiled(metric: str) -> None:
    def program(a: Any, b: Any) -> Any:
        return np.sum(distance.cdist(a, b, metric) ** 2) + np.sum(distance.pdist(b, metric) ** 2)

    found = bridge.value_and_grad(program, (0, 1), engine="xla")(POINTS, OTHERS)
    expected = bridge.value_and_grad(program, (0, 1))(POINTS, OTHERS)
    assert_allclose(found[0], expected[0])
    for one, other in zip(found[1], expected[1], strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_what_distances_refuse(engine: Any) -> None:
    def gradient(**options: Any) -> Any:
        return bridge.grad(lambda p: np.sum(distance.pdist(p, **options)), engine=engine)(POINTS)

    with pytest.raises(RefusedError, match="metric='hamming'") as caught:
        gradient(metric="hamming")
    assert "euclidean" in str(caught.value)
    with pytest.raises(RefusedError, match="out="):
        gradient(out=np.zeros(6))
    with pytest.raises(ValueError, match="Unknown Distance Metric"):
        gradient(metric="far")
    with pytest.raises(TypeError):
        gradient(q=1)
    with pytest.raises(RefusedError, match="tracked p="):
        bridge.grad(lambda p: distance.minkowski(POINTS[0], POINTS[1], p), engine=engine)(2.0)


@pytest.mark.parametrize("bound", [np.inf, 0.4])
@pytest.mark.parametrize("k", [1, 2, [1, 3], [2], 8])
@pytest.mark.parametrize("p", [1, 2, 3.0, np.inf])
@pytest.mark.parametrize("kind", [KDTree, cKDTree])
def test_distances_to_neighbours(kind: Any, p: float, k: Any, bound: float) -> None:
    def program(points: Any, x: Any) -> Any:
        tree = kind(points)
        near, _ = tree.query(x, k=k, p=p, distance_upper_bound=bound)
        alone, _ = tree.query(x[0])
        return np.sum(np.where(np.isinf(near), 0.0, near) ** 2) + alone

    bridge.check_gradient(program, (0, 1))(RNG.random((6, 2)), RNG.random((4, 2)))


@pytest.mark.parametrize("kind", [KDTree, cKDTree])
def test_a_tree_of_constants(kind: Any) -> None:
    tree = kind(OTHERS)

    def program(x: Any) -> Any:
        near, which = tree.query(x, 2, distance_upper_bound=10 * x[0, 0])
        counts = [len(found) for found in tree.query_ball_point(x, x[0, 0])]
        return np.sum(near * which) + np.sum(x[0] * counts[0])

    bridge.check_gradient(program)(POINTS)


@pytest.mark.parametrize("kind", [KDTree, cKDTree])
def test_which_points_are_near(kind: Any) -> None:
    def program(points: Any) -> Any:
        tree = kind(points)
        total = tree.n * tree.data[0, 0] + tree.count_neighbors(tree, 0.3)
        for i, j in sorted(tree.query_pairs(0.8)):
            total = total + np.linalg.norm(points[i] - points[j])
        own, _ = tree.query(points)
        return total + np.sum(own) + sum(np.sum(points[row]) for row in tree.query_ball_tree(tree, 0.5))

    bridge.check_gradient(program)(POINTS)


@pytest.mark.parametrize("kind", [KDTree, cKDTree])
def test_what_trees_refuse(kind: Any) -> None:
    plain = kind(OTHERS)
    for program, what in (
        (lambda x: kind(x).sparse_distance_matrix(kind(x), 0.3).sum(), "sparse_distance_matrix"),
        (lambda x: plain.sparse_distance_matrix(kind(x), 0.3).sum(), "sparse_distance_matrix"),
        (lambda x: np.sum(kind(x, boxsize=2.0).query(x)[0]), "periodic box"),
    ):
        with pytest.raises(RefusedError, match=what):
            bridge.grad(program)(POINTS)
    for near in (lambda x: np.sum(kind(x).query(x)[0]), lambda x: np.sum(plain.query(x)[0])):
        with pytest.raises(RefusedError, match="not known while the program is compiled"):
            bridge.grad(near, engine="xla")(POINTS)
    with pytest.raises(ValueError, match="p-norms"):
        bridge.grad(lambda x: np.sum(kind(x).query(x, p=-1)[0]))(POINTS)
