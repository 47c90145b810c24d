"""Habits of scientific code: what is printed, logged, asserted, plotted and kept beside the computation."""

import io
import json
import logging
import math
import sys
import time
import warnings

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("habits")

X = np.array([0.4, 0.9, 1.3, 0.7])
log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())


def printing(x):
    u = np.zeros(4)
    for k in range(3):
        u[:] = u + np.sin(x) * k
        loss = np.sum(u**2)
        print("step", k, "loss", loss, u)
        print(f"step {k:02d} loss {loss:.3e} first {u[0]:8.4f} {u.max()!r}")
        print("step %d loss %.3f" % (k, loss), "mean {:+.2f}".format(u.mean()), file=sys.stdout)
    return loss


program("print and every kind of format", lambda: printing, X)


def logged(x, rate):
    w = x.copy()
    for epoch in range(4):
        gradient = 2 * (w - 1)
        w -= rate * gradient
        loss = ((w - 1) ** 2).sum()
        log.debug("epoch %d: loss=%.6f, |g|=%g", epoch, loss, np.linalg.norm(gradient))
        log.info("weights %s", w)
        if log.isEnabledFor(logging.CRITICAL) and loss > 1e9:
            log.critical(f"loss is {loss}")
    return loss


program("logging with arguments", lambda: logged, X, 0.1, argnums=(0, 1))


def with_history():
    history = []

    def train(x):
        w = np.zeros(4)
        for epoch in range(3):
            w += 0.1 * (x - w)
            loss = np.mean((x - w) ** 2)
            history.append(float(loss))
        return loss

    return train


program("float(loss) into a history", with_history, X, effects=True)


def history_within(x):
    history = {"loss": [], "norm": []}
    w, best, best_epoch = np.zeros(4), math.inf, -1
    for epoch in range(5):
        w = w + 0.3 * (x - w)
        loss = np.mean((x - w) ** 2)
        history["loss"].append(float(loss))
        history["norm"].append(np.linalg.norm(w).item())
        if history["loss"][-1] < best:
            best, best_epoch = history["loss"][-1], epoch
    json.dumps(history)
    assert best_epoch == 4 and len(history["loss"]) == 5
    return loss


program("a history of plain numbers, written as JSON", lambda: history_within, X)


def lost_history(x):
    history = []
    for epoch in range(3):
        history.append(float(np.sum(x**2) * (epoch + 1)))
    return np.sum(x) + sum(history)


program("a history of plain numbers that enters the loss", lambda: lost_history, X)


def asserting(x):
    u = np.zeros((2, 4))
    u[0] = x
    u[1] = np.sqrt(x)
    assert u.shape == (2, 4) and u.ndim == 2, "shape"
    assert np.all(u > 0), f"negative: {u}"
    assert np.isfinite(u).all() and not np.isnan(u).any()
    assert math.isclose(u[1, 0] ** 2, u[0, 0], rel_tol=1e-12)
    np.testing.assert_allclose(u[1] ** 2, u[0], rtol=1e-12)
    np.testing.assert_array_less(0.0, u)
    np.testing.assert_almost_equal(u[0].sum(), x.sum())
    if np.allclose(u[0], u[1]) or np.array_equal(u[0], u[1]):
        raise ValueError("the rows are equal")
    return np.sum(u[0] * u[1])


program("assertions and np.testing", lambda: asserting, X)


class ProgressBar:
    def __init__(self, iterable, desc="", out=None):
        self.iterable, self.desc, self.out = iterable, desc, out or io.StringIO()
        self.n, self.start, self.postfix = 0, time.time(), ""

    def __iter__(self):
        for item in self.iterable:
            yield item
            self.n += 1
            rate = self.n / max(time.time() - self.start, 1e-9)
            self.out.write(f"\r{self.desc}: {self.n}/{len(self.iterable)} {rate:.1f}it/s {self.postfix}")
            self.out.flush()

    def set_postfix(self, **values):
        self.postfix = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in values.items())


def with_progress(x):
    u, residual = x.copy(), 1.0
    bar = ProgressBar(range(5), desc="relax")
    for it in bar:
        new = u.copy()
        new[1:-1] = 0.5 * (u[2:] + u[:-2])
        residual = np.abs(new - u).max()
        u = new
        bar.set_postfix(residual=residual, it=it)
    return u[1] * u[2]


program("a progress bar", lambda: with_progress, X)


def plotting(x):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    u = np.zeros((3, 4))
    fig, ax = plt.subplots(2, 1)
    for k in range(3):
        u[k] = x**k
        ax[0].plot(u[k], label=f"{k}, mean {u[k].mean():.2f}")
    ax[1].imshow(u, vmin=u.min(), vmax=u.max())
    ax[1].set_title("sum = %.2f" % u.sum())
    ax[0].legend()
    plt.close(fig)
    return np.sum(u[2] * u[1])


program("plotting inside of the function", lambda: plotting, X, long=True)


def tables(x):
    out, rows = io.StringIO(), []
    u = np.outer(x, x)
    for row in u:
        rows.append(",".join(str(v) for v in row))
        print(*row, sep="\t", file=out)
    out.write("\n".join(rows))
    assert out.getvalue().count("\n") == 7
    with np.printoptions(precision=3, suppress=True):
        text = str(u) + np.array2string(u[0], separator=";")
    return u.trace() + len(text) * 0


def saving(x):
    out = io.StringIO()
    np.savetxt(out, np.outer(x, x), fmt="%.3f", header="field")
    np.save(io.BytesIO(), 2 * x)
    np.savez(io.BytesIO(), x, y=x**2)
    return np.sum(x)


program("tables printed", lambda: tables, X)
program("a table saved", lambda: saving, X)


def careful(x, verbose=False, dtype=np.float64):
    x = np.asarray(x, dtype=dtype)
    if not isinstance(x, np.ndarray):
        raise TypeError(f"expected an array, got {type(x).__name__}")
    if x.ndim != 1 or x.dtype.kind != "f":
        raise ValueError(f"expected floats, got {x.dtype} of shape {x.shape}")
    x = np.ascontiguousarray(np.atleast_1d(x))
    out = np.zeros(x.shape, dtype=x.dtype)
    for i in range(x.shape[0]):
        out[i] = x[: i + 1].sum()
    if np.isnan(out).any():
        warnings.warn("NaN in the result", RuntimeWarning, stacklevel=2)
    return out.prod() if out.size else 0.0


program("arguments checked, converted and made contiguous", lambda: careful, X)


def rounding_for_reports(x):
    total = np.sum(np.exp(x))
    report = {"total": round(float(total), 3), "max": np.round(x, 2).max(), "list": x.tolist(), "text": str(total)}
    line = "{total:>10} {max}".format(**report)
    assert line and len(report["list"]) == 4
    return total


program("rounding for a report, tolist", lambda: rounding_for_reports, X)


def early_stopping(x, patience=2):
    w, best, bad, snapshots = np.zeros(4), None, 0, []
    for epoch in range(12):
        w = w - 0.6 * (w - x) + 0.05 * (-1) ** epoch
        loss = np.sum((w - x) ** 2)
        if best is None or loss < best - 1e-4:
            best, bad = loss, 0
            snapshots.append(w.copy())
        else:
            bad += 1
            if bad >= patience:
                print(f"stop at {epoch}, best {best:.4g}")
                break
    return snapshots[-1] @ x


program("early stopping with snapshots", lambda: early_stopping, X, step=1e-4)


DEBUG = True


class Monitor:
    def __init__(self):
        self.energy, self.steps, self.failed = [], 0, False

    def __call__(self, u, t):
        self.steps += 1
        e = 0.5 * (u**2).sum()
        self.energy.append(f"{t:.2f}: {e:.6f}")
        if DEBUG and len(self.energy) > 3:
            self.energy.pop(0)
        if not np.isfinite(e):
            self.failed = True


def with_callback():
    monitor = Monitor()

    def solve(x, callback=monitor):
        u, t = x.copy(), 0.0
        while t < 0.45:
            u += 0.1 * np.roll(u, 1) * np.cos(t)
            t += 0.1
            callback(u, t)
        return u.std() + monitor.steps * 0

    return solve


program("a callback that keeps lines of text", with_callback, X, effects=True)


def as_dictionary_keys(x):
    seen, order = {}, []
    for v in x:
        key = f"{v:.1f}"
        if key in seen:
            continue
        seen[key] = v
        order.append(key)
    return sum(seen[k] * (i + 1) for i, k in enumerate(sorted(order, key=float)))


program("numbers made into keys by formatting", lambda: as_dictionary_keys, X, step=1e-3)
