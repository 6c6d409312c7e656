"""Chromium without a window, driven by Debian's chromium-driver over the WebDriver protocol."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

START_SECONDS, CALL_SECONDS = 60, 60
PROGRAMS = ("chromium", "chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls a reference to an element


class Browser:
    """A session: opens pages, clicks, and records what the page logged and requested."""

    def __init__(self, address: str, options: list[str]) -> None:
        self._address = address
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": options, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"
        self._call("POST", f"{self._session}/url", {"url": "about:blank"})
        self.requests()  # those of the page that a new window shows

    def open(self, page: Path, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Open a file, in a window of so many pixels."""
        values = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.devtools("Emulation.setEmulatedMedia", {"features": values})
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
        self._call("POST", f"{self._session}/url", {"url": page.absolute().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns that runs in the page, not bound by the page's own policy."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        """What people read of an element."""
        return self._call("GET", f"{self._session}/element/{self._found(selector)}/text")

    def click(self, selector: str) -> None:
        """Click as a mouse does: where something else covers the element that is an error."""
        self._call("POST", f"{self._session}/element/{self._found(selector)}/click", {})

    def type(self, selector: str, keys: str) -> None:
        """Press keys in an element."""
        self._call("POST", f"{self._session}/element/{self._found(selector)}/value", {"text": keys})

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def complaints(self) -> list[str]:
        """What came up on the console since the last look, such as errors and refusals of the page's policy."""
        entries = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def requests(self) -> list[str]:
        """The addresses that the page requested since the last call."""
        entries = self._call("POST", f"{self._session}/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        return [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]

    def devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        """What Chromium's own protocol answers."""
        body = {"cmd": command, "params": parameters}
        return self._call("POST", f"{self._session}/goog/cdp/execute", body)

    def close(self) -> None:
        """End the browser."""
        self._call("DELETE", self._session)

    def _found(self, selector: str) -> str:
        body = {"using": "css selector", "value": selector}
        return self._call("POST", f"{self._session}/element", body)[ELEMENT]

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, content, {"Content-Type": "application/json"}, method=method
        )
        try:
            with _OPENER.open(request, timeout=CALL_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {json.load(error)['value']['message']}") from None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextmanager
def a_browser() -> Iterator[Browser]:
    """A browser for as long as the block runs; skips where Chromium or its driver is not installed."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: apt-get install chromium chromium-driver)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        log = Path(home) / "driver.log"
        with log.open("wb") as written:
            driver = subprocess.Popen(
                ["chromedriver", "--port=0"],
                stdout=written,
                stderr=subprocess.STDOUT,
                env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
            )
        try:
            yield from _session(f"http://127.0.0.1:{_port(driver, log)}", home)
        finally:
            driver.terminate()
            driver.wait(CALL_SECONDS)


def _session(address: str, home: str) -> Iterator[Browser]:
    options = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"]
    options += ["--no-first-run", "--disable-background-networking", f"--user-data-dir={home}/profile"]
    browser = Browser(address, options)
    try:
        yield browser
    finally:
        browser.close()


def _port(driver: "subprocess.Popen[bytes]", log: Path) -> int:
    """Where the driver listens, as soon as it says so."""
    import time

    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and driver.poll() is None:
        found = re.search(r"started successfully on port (\d+)", log.read_text(errors="replace"))
        if found:
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"chromedriver did not start: {log.read_text(errors='replace')[-500:]}")
