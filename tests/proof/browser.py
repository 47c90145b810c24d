"""A headless Chromium, driven through chromedriver's own protocol: pages as a reader with a keyboard meets them."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KEYS = {
    "Right": "\ue014", "Left": "\ue012", "Down": "\ue015", "Up": "\ue013", "End": "\ue010", "Home": "\ue011",
    "PageDown": "\ue00f", "PageUp": "\ue00e", "Enter": "\ue007", "Tab": "\ue004",
}  # fmt: skip


def why_no_browser() -> str | None:
    """Why pages cannot be tested here; None if they can."""
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not found: install Debian's chromium and chromium-driver" if missing else None


class Browser:
    """One window."""

    def __init__(self, address: str, width: int, height: int) -> None:
        self.address = address
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"]
        options = {"args": arguments, "binary": shutil.which("chromium")}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{session['sessionId']}"

    def ask(self, method: str, path: str, content: Any = None) -> Any:
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def open(self, page: Path) -> None:
        self.ask("POST", f"{self.session}/url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self.ask("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self.ask("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        sequence = {"type": "key", "id": "keyboard", "actions": actions}
        self.ask("POST", f"{self.session}/actions", {"actions": [sequence]})

    def complaints(self) -> list[str]:
        """What the page wrote to the console: errors, and what its security policy refused."""
        return [entry["message"] for entry in self.ask("POST", f"{self.session}/se/log", {"type": "browser"})]

    def screenshot(self, path: Path) -> bytes:
        image = base64.b64decode(self.ask("GET", f"{self.session}/screenshot"))
        path.write_bytes(image)
        return image

    def close(self) -> None:
        self.ask("DELETE", self.session)


@contextmanager
def browser(width: int = 1400, height: int = 1200) -> Iterator[Browser]:
    """A browser, closed at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip
    try:
        _wait_for(port)
        window = Browser(f"http://127.0.0.1:{port}", width, height)
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait()


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("chromedriver did not start")
