"""The demo's plots, drawn straight to PNG files: no display and no global pyplot state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage

from bridge.demo.digits import CLASSES, Trained
from bridge.demo.reaction_diffusion import NAMES, NOISE, TRUE, Calibrated

MOST_MISTAKES = 8
DOTS_PER_INCH = 120


def draw_digits(trained: Trained, folder: Path) -> Path:
    """Draw loss, test accuracy, confusions and mistaken images into `digits.png`; return its path."""
    figure = Figure(figsize=(12, 6.4), layout="constrained")
    figure.suptitle(f"Handwritten digits: {trained.accuracy:.1%} of the unseen images recognised")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[3.2, 1])[:, 0]
    curves, confusions = above.subplots(1, 2, width_ratios=[1.7, 1])

    steps = np.arange(1, len(trained.losses) + 1)
    (loss,) = curves.plot(steps, trained.losses, color="C0", label="training loss (left)")
    curves.set(xlabel="step of L-BFGS", ylabel="cross-entropy + weight decay", ylim=(0, None))
    right = curves.twinx()
    (accuracy,) = right.plot(steps, 100 * np.array(trained.accuracies), color="C1", label="test accuracy (right)")
    right.set(ylabel="%", ylim=(80, 100.5))
    curves.legend(handles=[loss, accuracy], loc="center right")
    curves.grid(alpha=0.3)

    _draw_confusions(confusions, trained)
    _draw_mistakes(below, trained)
    return _save(figure, folder / "digits.png")


def _draw_confusions(axes: Axes, trained: Trained) -> None:
    counts = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(counts, (trained.test.labels, trained.predictions), 1)
    axes.imshow(np.sqrt(counts), cmap="Blues")
    for row, column in np.argwhere(counts):
        axes.text(
            column, row, str(counts[row, column]), ha="center", va="center", color="white" if row == column else "black"
        )
    digits = np.arange(CLASSES)
    axes.set(xlabel="recognised as", ylabel="digit", title="test images", xticks=digits, yticks=digits)


def _draw_mistakes(panel: SubFigure, trained: Trained) -> None:
    mistakes = np.flatnonzero(trained.predictions != trained.test.labels)
    shown = mistakes[:MOST_MISTAKES]
    panel.suptitle(f"Mistakes: digit, and what it was taken for ({len(shown)} of {len(mistakes)})", fontsize=10)
    for axes in panel.subplots(1, MOST_MISTAKES):
        axes.set_axis_off()
    for axes, k in zip(panel.axes, shown, strict=False):
        axes.imshow(trained.test.pixels[k].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"{trained.test.labels[k]} as {trained.predictions[k]}", fontsize=9)


def draw_calibration(calibrated: Calibrated, folder: Path) -> Path:
    """Draw the fields before and after calibration, and its course, into `gray-scott.png`; return its path."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    figure.suptitle("Gray-Scott: parameters recovered from a noisy run")
    above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
    fields = {
        f"observed (noise {NOISE})": calibrated.observed,
        "true parameters": calibrated.runs["true"],
        "initial parameters": calibrated.runs["initial"],
        "recovered parameters": calibrated.runs["recovered"],
    }
    panels = above.subplots(1, len(fields))
    for axes, (title, field) in zip(panels, fields.items(), strict=True):
        image: AxesImage = axes.imshow(field, cmap="magma", vmin=0, vmax=calibrated.runs["true"].max())
        axes.set(title=title, xticks=[], yticks=[])
    above.colorbar(image, ax=panels, label="v, last snapshot", shrink=0.8)

    ratios, misfits = below.subplots(1, 2)
    for name, course in zip(NAMES, (np.array(calibrated.parameters) / TRUE).T, strict=True):
        ratios.plot(course, label=name)
    ratios.axhline(1, color="black", linewidth=0.8, linestyle=":")
    ratios.set(xlabel="step of L-BFGS", ylabel="parameter / true value")
    ratios.legend()
    misfits.plot(np.array(calibrated.misfits) / NOISE**2)
    misfits.axhline(1, color="black", linewidth=0.8, linestyle=":")
    misfits.set(xlabel="step of L-BFGS", ylabel="misfit / variance of the noise", ylim=(0, None))
    return _save(figure, folder / "gray-scott.png")


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=DOTS_PER_INCH)
    return path
