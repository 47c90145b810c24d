"""The demo: its two programs, their gradients, and what it does when a requirement fails or a package is missing."""

from __future__ import annotations

import dataclasses
from importlib.util import find_spec

import numpy as np
import pytest

import bridge
import bridge.demo
from bridge.demo import digits, proof, reaction_diffusion, report

PROBLEM = reaction_diffusion.Problem(cells=20, snapshots=2, interval=3)


def small_images(count: int = 20) -> digits.Images:
    training, _ = digits.load()
    return digits.Images(training.pixels[:count], training.labels[:count])


def analytic_digits_gradient(parameters: np.ndarray, images: digits.Images) -> np.ndarray:
    """Backpropagation by hand, without buffers."""
    weights_in, bias_in, weights_out, bias_out = digits.layers(parameters)
    hidden = np.tanh(images.pixels @ weights_in + bias_in)
    scores = np.exp(hidden @ weights_out + bias_out)
    of_scores = scores / scores.sum(axis=1, keepdims=True) - np.eye(digits.CLASSES)[images.labels]
    of_scores /= len(images.labels)
    of_hidden = (of_scores @ weights_out.T) * (1 - hidden**2)
    parts = (
        images.pixels.T @ of_hidden + digits.WEIGHT_DECAY * weights_in,
        of_hidden.sum(axis=0),
        hidden.T @ of_scores + digits.WEIGHT_DECAY * weights_out,
        of_scores.sum(axis=0),
    )
    return np.concatenate([part.ravel() for part in parts])


def rolled_step(u: np.ndarray, v: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One time step on a periodic grid without ghost cells, out of place."""
    feed, kill, diffusion_u, diffusion_v = rates

    def laplacian(field):
        return sum(np.roll(field, shift, axis) for shift in (-1, 1) for axis in (0, 1)) - 4 * field

    reaction = u * v**2
    return (
        u + diffusion_u * laplacian(u) - reaction + feed * (1 - u),
        v + diffusion_v * laplacian(v) + reaction - (feed + kill) * v,
    )


def misfit_arguments() -> tuple:
    u, v = reaction_diffusion.initial_state(PROBLEM.cells)
    rng = np.random.default_rng(1)
    u += 0.1 * rng.normal(size=u.shape)
    v += 0.1 * rng.normal(size=v.shape)
    observations = reaction_diffusion.snapshots(reaction_diffusion.TRUE, u, v, PROBLEM)
    return u, v, observations, PROBLEM.interval


@pytest.mark.ci
def test_quick_run_meets_its_requirements_and_saves_the_plots(tmp_path, capsys):
    folder = tmp_path / "new" / "folder"
    assert bridge.demo.run(folder, quick=True) == 0
    printed = capsys.readouterr().out
    assert "FAILED" not in printed
    for name in ("digits.png", "gray-scott.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
        assert (folder / name).stat().st_size > 20_000
        assert name in printed


@pytest.mark.ci
def test_a_failed_requirement_is_shown_and_gives_status_1(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report, "LEAST_ACCURACY", 1.01)
    monkeypatch.setattr(reaction_diffusion, "QUICK", PROBLEM)
    assert bridge.demo.run(tmp_path, quick=True) == 1
    assert "FAILED" in capsys.readouterr().out


def test_a_missing_package_names_the_line_to_type(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(bridge.demo, "find_spec", lambda name: None if name == "rich" else find_spec(name))
    assert bridge.demo.run(tmp_path / "unused") == 1
    complaint = capsys.readouterr().err
    assert "needs rich" in complaint
    assert "pip install" in complaint
    assert "[demo]" in complaint
    assert not (tmp_path / "unused").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert bridge.demo.run(tmp_path / "file") == 1
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_digits_gradient_is_the_one_derived_by_hand():
    images = small_images()
    parameters = digits.initial_parameters()
    arguments = (images.pixels, images.labels, *digits.buffers(images))
    value, gradient = bridge.value_and_grad(digits.loss)(parameters, *arguments)
    assert value == digits.loss(parameters, *arguments)
    np.testing.assert_allclose(gradient, analytic_digits_gradient(parameters, images), rtol=1e-10, atol=1e-14)


def test_what_the_buffers_held_does_not_matter_and_is_kept():
    images = small_images()
    parameters = digits.initial_parameters()
    gradients = []
    for rubbish in (0.0, np.inf, np.nan):
        hidden, scores = (np.full_like(buffer, rubbish) for buffer in digits.buffers(images))
        gradients.append(bridge.grad(digits.loss)(parameters, images.pixels, images.labels, hidden, scores))
        for buffer in (hidden, scores):
            np.testing.assert_array_equal(buffer, np.full_like(buffer, rubbish))
    assert np.all(np.isfinite(gradients))
    np.testing.assert_array_equal(gradients[1], gradients[0])
    np.testing.assert_array_equal(gradients[2], gradients[0])


def test_log_probabilities_sum_to_one_for_huge_scores():
    images = small_images()
    parameters = 1e3 * digits.initial_parameters()
    hidden, scores = digits.buffers(images)
    digits.write_log_probabilities(parameters, images.pixels, hidden, scores)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1)


def test_training_and_test_images_do_not_overlap():
    training, test = digits.load()
    assert len(training.labels) + len(test.labels) == 1797
    assert len(test.labels) == digits.TEST_IMAGES
    rows = {image.tobytes() for image in training.pixels}
    assert not any(image.tobytes() in rows for image in test.pixels)


def test_simulation_is_the_periodic_one():
    u, v, observations, _ = misfit_arguments()
    inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
    for seen_u, seen_v in observations:
        for _ in range(PROBLEM.interval):
            inner_u, inner_v = rolled_step(inner_u, inner_v, reaction_diffusion.TRUE)
        np.testing.assert_allclose(seen_u, inner_u, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(seen_v, inner_v, rtol=1e-12, atol=1e-15)


def test_misfit_is_zero_with_zero_gradient_at_the_truth():
    value, gradient = bridge.value_and_grad(reaction_diffusion.misfit)(
        np.log(reaction_diffusion.TRUE), *misfit_arguments()
    )
    assert value < 1e-30
    np.testing.assert_allclose(gradient, 0, atol=1e-15)


def test_misfit_gradient_by_every_argument_agrees_with_finite_differences():
    log_parameters, arguments = np.log(reaction_diffusion.INITIAL), misfit_arguments()
    u, v, observations, interval = arguments
    before = [array.copy() for array in (u, v, observations)]
    gradients = bridge.grad(reaction_diffusion.misfit, argnums=(0, 1, 2, 3))(log_parameters, *arguments)
    for kept, array in zip(before, (u, v, observations), strict=True):
        np.testing.assert_array_equal(array, kept)

    rng = np.random.default_rng(2)
    points = (log_parameters, u, v, observations)
    for position, (point, gradient) in enumerate(zip(points, gradients, strict=True)):
        direction = rng.normal(size=point.shape)

        def along(moved, position=position):
            return reaction_diffusion.misfit(*points[:position], moved, *points[position + 1 :], interval)

        slope = proof.directional_slope(along, point, direction)
        assert np.vdot(gradient, direction) == pytest.approx(slope, rel=1e-7)


def test_directional_slope_of_a_known_function():
    point, direction = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    slope = proof.directional_slope(lambda x: np.exp(x[0]) * x[1], point, direction)
    assert slope == pytest.approx(np.e * (2 * 3 - 1), rel=1e-10)


def test_proof_sees_a_wrong_gradient_and_a_wrong_value(monkeypatch):
    def wrong(function):
        return lambda x: (function(x) + 1, 1.001 * 2 * x)

    def square(x):
        return np.sum(x**2)

    right = proof.prove(square, np.arange(1.0, 5.0))
    assert right.gradient_error < 1e-9
    assert right.value_error == 0
    monkeypatch.setattr(bridge, "value_and_grad", wrong)
    found = proof.prove(square, np.arange(1.0, 5.0))
    assert found.gradient_error == pytest.approx(1e-3, rel=1e-3)
    assert found.value_error == pytest.approx(1 / 30)


@pytest.mark.parametrize("error", [1e-3, np.nan, np.inf])
def test_a_bad_gradient_fails_its_row(error):
    good = proof.Proof(gradient_error=1e-9, value_error=0.0, gradient_seconds=0.2, forward_seconds=0.1)
    for field in ("gradient_error", "value_error"):
        bad = dataclasses.replace(good, **{field: error})
        rows = report.digits_checks(
            digits.Trained([1.0], [1.0], digits.Images(np.zeros((1, 64)), np.array([3])), np.array([3]), bad)
        )
        assert [row.passed for row in rows].count(False) == 1
