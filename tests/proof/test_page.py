"""The page in a real Chromium: what is drawn at 10 and at 10,000 operations, and all of it by keyboard."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.proof.report import html
from tests.proof.browser import Browser, browser, why_no_browser
from tests.proof.report_samples import heat, large_report, report_of, small_report

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or "")


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, shown in (("small", small_report()), ("large", large_report()), ("empty", report_of(None))):
        shown.to_html(folder / f"{name}.html")
    bridge.trace(heat)(np.linspace(0.0, 1.0, 64), 3).to_html(folder / "trace.html")
    several = html.page([small_report(), large_report()], ["one", "two"], "2 failed cross-checks")
    (folder / "several.html").write_text(several, encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


def details(window: Browser) -> str:
    return str(window.run("return document.querySelector('.details').innerText"))


def selected(window: Browser) -> int:
    return int(window.run("return document.querySelector('canvas').getAttribute('aria-valuenow')"))


def column(window: Browser, number: int) -> list[str]:
    """The texts of one column of the rows that are in the document."""
    cells = f"document.querySelectorAll('.listing tr[data-position] td:nth-child({number})')"
    return list(window.run(f"return [...{cells}].map((cell) => cell.innerText)"))


def view(window: Browser) -> tuple[float, float]:
    return tuple(window.run("return [explorers[0].drawing.from, explorers[0].drawing.to]"))  # type: ignore[return-value]


def pixels(png: bytes) -> np.ndarray:
    """The picture as (height, width, 3): Chromium's are 8 bits a channel, and not interlaced."""
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    assert (depth, interlaced) == (8, 0)
    channels = {2: 3, 6: 4}[kind]
    data, position = b"", 8
    while position < len(png):
        length, name = struct.unpack(">I4s", png[position : position + 8])
        if name == b"IDAT":
            data += png[position + 8 : position + 8 + length]
        position += 12 + length
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    picture = np.zeros((height, width * channels), np.uint8)
    above = np.zeros(width * channels, np.uint8)
    for row, line in enumerate(lines):
        above = picture[row] = _unfiltered(int(line[0]), line[1:], above, channels)
    return picture.reshape(height, width, channels)[..., :3]


def _unfiltered(kind: int, line: np.ndarray, above: np.ndarray, channels: int) -> np.ndarray:
    """One line of a PNG file, whose filter predicts each byte from those on its left and above it."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        return np.cumsum(line.reshape(-1, channels), axis=0, dtype=np.uint8).ravel()
    found = bytearray(len(line))
    upper, given = above.tobytes(), line.tobytes()
    for k, byte in enumerate(given):
        left, up = (found[k - channels] if k >= channels else 0), upper[k]
        corner = upper[k - channels] if k >= channels else 0
        if kind == 3:
            predicted = (left + up) // 2
        else:
            guess = left + up - corner
            predicted = min((left, up, corner), key=lambda one: abs(guess - one))
        found[k] = (byte + predicted) % 256
    return np.frombuffer(bytes(found), np.uint8)


@pytest.mark.parametrize("name", ["small", "large", "trace", "several", "empty"])
def test_page_loads_without_complaint(window: Browser, pages: dict[str, Path], name: str) -> None:
    window.open(pages[name])
    assert window.complaints() == []
    assert window.run("return performance.getEntriesByType('resource').length") == 0
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.ci
@pytest.mark.parametrize("name", ["small", "large"])
def test_screenshot_shows_memory_reads_writes_and_overwrites(
    window: Browser, pages: dict[str, Path], name: str, tmp_path: Path
) -> None:
    window.open(pages[name])
    window.run("document.querySelector('canvas').scrollIntoView({ block: 'center' })")
    picture = pixels(window.screenshot(tmp_path / "page.png"))
    colours = Counter(map(tuple, picture.reshape(-1, 3)[::3].tolist()))
    for kind in ("life", "read", "write", "over", "bar", "faint"):
        script = f"return explorers[0].drawing.colour('{kind}').match(/\\d+/g).map(Number)"
        assert colours[tuple(window.run(script))] > 15, f"nothing is drawn in the colour of {kind}"


def test_ten_thousand_operations_are_not_ten_thousand_rows(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["large"])
    assert window.run("return document.querySelectorAll('*').length") < 2500
    assert window.run("return document.querySelectorAll('.listing tbody tr').length") < 80
    assert window.run("return document.querySelector('.listing table').getAttribute('aria-rowcount')") == "10006"
    window.run("document.querySelector('.listing').scrollTop = 26 * 9000")
    window.run("explorers[0].listing.render()")
    numbers = [int(text) for text in column(window, 1)]
    assert 9000 in numbers
    assert len(numbers) < 80


def test_first_view_is_where_engines_part(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["large"])
    assert selected(window) == 4000
    assert "difference 1 nan: gradient of x[3], jax / native" in " ".join(details(window).split())
    first, last = view(window)
    assert last - first == 160
    assert first < 4000 < last


def test_everything_by_keyboard(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["large"])
    for _ in range(60):
        window.press("Tab")
        if window.run("return document.activeElement.tagName") == "CANVAS":
            break
    else:
        raise AssertionError("the timeline cannot be reached with the Tab key")
    steps: list[tuple[str, int]] = [
        ("Right", 4001), ("Left", 4000), ("PageDown", 4016), ("PageUp", 4000), ("d", 7001), ("d", 4000), ("End", 10004),
        ("Home", 0), ("Right", 1), ("n", 5), ("n", 6), ("p", 5),
    ]  # fmt: skip
    for key, expected in steps:
        window.press(key)
        assert selected(window) == expected, key
        first, last = view(window)
        assert first <= expected <= last
        assert f"No. {expected:,} " in details(window)
    window.press("0")
    assert view(window) == (0, 10005)
    window.press("+")
    assert view(window)[1] - view(window)[0] == pytest.approx(10005 / 2)
    window.press("-", "Enter", "Down", "Down", "Up")
    assert selected(window) == 6
    assert window.run("return document.querySelector('tr.chosen').getAttribute('aria-current')") == "true"
    window.press("End")
    assert selected(window) == 10004
    edges = "[...arguments].map((one) => document.querySelector(one).getBoundingClientRect().bottom)"
    row, frame = window.run(f"return (function () {{ return {edges}; }})('tr.chosen', '.listing')")
    assert row <= frame + 1


def test_focus_is_not_caught(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["small"])
    met = []
    for _ in range(60):
        window.press("Tab")
        met.append(window.run("const a = document.activeElement; return a.getAttribute('aria-label') || a.innerText"))
        if len(met) > 1 and met[-1] == met[0]:
            break
    assert {"Zoom in", "Operations over memory", "List of operations", "Table of differences"} <= set(met)
    assert any(str(name).startswith("Memory (") for name in met), "the last thing on the page"


def type_into_search(window: Browser, words: str) -> str:
    window.run(f"const i = document.querySelector('input'); i.value = {words!r}; i.dispatchEvent(new Event('input'))")
    return str(window.run("return document.querySelector('output').innerText"))


def test_search_and_filter(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["large"])
    assert type_into_search(window, "NP.SUBTRACT") == "1,667 of 10,005 operations"
    assert set(column(window, 2)) == {"np.subtract"}
    assert type_into_search(window, "#0") == "1 of 10,005 operations"
    assert column(window, 5) == ["#0 u"]
    assert type_into_search(window, "no such thing") == "0 of 10,005 operations"
    type_into_search(window, "")
    for choice, count in (("overwrites", 3334), ("overlaps", 1667), ("blamed", 2), ("bad", 1), ("none", 1429)):
        window.run(
            f"const s = document.querySelector('select'); s.value = '{choice}'; s.dispatchEvent(new Event('change'))"
        )
        assert window.run("return document.querySelector('output').innerText") == f"{count:,} of 10,005 operations"


def test_operation_of_a_difference_is_one_press_away(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["several"])
    window.run("document.querySelectorAll('#report-2 [data-operation]')[1].focus()")
    window.press("Enter")
    assert window.run("return document.activeElement.getAttribute('aria-valuenow')") == "7001"
    assert window.run("return document.activeElement.closest('section').id") == "report-2"


def test_themes(window: Browser, pages: dict[str, Path]) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    for scheme, expected in (("dark", "rgb(20, 24, 29)"), ("light", "rgb(255, 255, 255)")):
        window.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        window.open(pages["small"])
        assert window.run(background) == expected
    window.run("document.getElementById('theme').click()")
    assert window.run(background) == "rgb(20, 24, 29)"
    assert window.run("return explorers[0].drawing.colour('paper')") == "rgb(20, 24, 29)"
    window.devtools("Emulation.setEmulatedMedia", features=[])


def test_a_narrow_screen_shows_every_column(window: Browser, pages: dict[str, Path]) -> None:
    window.devtools("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=True)
    try:
        window.open(pages["small"])
        beyond = (
            "return [...document.querySelectorAll('.differences *, .engines *')]"
            ".filter((one) => one.getBoundingClientRect().right > 400 && !one.closest('thead'))"
            ".map((one) => one.outerHTML)"
        )
        assert window.run(beyond) == []
        shown = window.run("return document.querySelector('.differences').innerText")
        assert "mismatch" in shown
        labels = "return getComputedStyle(document.querySelector('.engines td[data-label]'), '::before').content"
        assert "Status" in window.run(labels)
    finally:
        window.devtools("Emulation.clearDeviceMetricsOverride")


def test_page_prints(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["large"])
    window.devtools("Emulation.setEmulatedMedia", media="print")
    window.run("dispatchEvent(new Event('beforeprint'))")
    rows = window.run("return document.querySelectorAll('.listing tbody tr').length")
    assert rows == 502
    shown: Any = window.run("return document.querySelector('.listing tbody').lastElementChild.innerText")
    assert shown == "the first 500 of 10,005 operations; the page shows them all"
    assert window.run("return getComputedStyle(document.querySelector('.controls')).display") == "none"
    window.devtools("Emulation.setEmulatedMedia", media="")
    window.run("dispatchEvent(new Event('afterprint'))")
    assert window.run("return document.querySelectorAll('.listing tbody tr').length") < 80


def test_dragging_and_clicking(window: Browser, pages: dict[str, Path]) -> None:
    window.open(pages["large"])
    window.run("document.querySelector('canvas').scrollIntoView({ block: 'center' })")
    box = "document.querySelector('canvas').getBoundingClientRect()"
    left, top, width = window.run(f"return [{box}.left, {box}.top, {box}.width]")

    def mouse(kind: str, x: float, y: float) -> None:
        window.devtools("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    mouse("mousePressed", left + width - 20, top + 150)
    mouse("mouseReleased", left + width - 20, top + 150)
    assert 4070 < selected(window) < 4085
    before = view(window)
    mouse("mousePressed", left + 800, top + 150)
    mouse("mouseMoved", left + 600, top + 150)
    mouse("mouseReleased", left + 600, top + 150)
    assert view(window)[0] > before[0] + 10
    assert 4070 < selected(window) < 4085, "a drag selects nothing"
    mouse("mousePressed", left + width - 30, top + 10)
    mouse("mouseReleased", left + width - 30, top + 10)
    assert view(window)[1] > 9800, "the overview leads to the end"
