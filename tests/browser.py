"""A headless Chromium, spoken to over pipes with the DevTools protocol; nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars",
    "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def found() -> str | None:
    """The browser of this machine, or the one that BOUGH_TEST_BROWSER names."""
    return os.environ.get("BOUGH_TEST_BROWSER") or next(
        (shutil.which(name) for name in NAMES if shutil.which(name)), None
    )


class Page:
    """One page of a browser of its own."""

    def __init__(self, size: tuple[int, int] = (900, 600)) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        down, self._write = os.pipe()
        self._read, up = os.pipe()
        words = [found(), *FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.profile.name}"]
        # the browser reads commands from 3 and answers on 4
        script = f"exec 3<&{down} 4>&{up}; exec " + " ".join(f"'{word}'" for word in words)
        self._process = subprocess.Popen(
            ["bash", "-c", script], pass_fds=(down, up), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(down)
        os.close(up)
        self._number, self._rest, self.events = 0, b"", []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self.profile.cleanup()

    def send(self, method: str, **parameters):
        return self._send(method, self.session, **parameters)

    def _send(self, method: str, session: str | None = None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has gone"
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        return json.loads(line)

    def open(self, address: str) -> None:
        self.events.clear()
        self.send("Page.navigate", url=address)

    def run(self, script: str):
        """The value of an expression in the page; promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str, seconds: float = 240.0):
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(f"Boolean({script})")):
            assert time.monotonic() < end, f"never true: {script}; {self.errors()}"
            time.sleep(0.1)
        return value

    def errors(self) -> list[str]:
        """Exceptions and console errors so far."""
        self.run("0")
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [json.dumps(e["params"])[:500] for e in self.events if e.get("method") in kinds]

    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        self.run("0")
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def mouse(self, kind: str, at: tuple[float, float], pressed: bool = False, control: bool = False) -> None:
        """One event of the mouse: mouseMoved, mousePressed or mouseReleased; with the control key, or without."""
        button = "none" if kind == "mouseMoved" and not pressed else "left"
        where = {"x": at[0], "y": at[1], "clickCount": int(kind != "mouseMoved")}
        self.send(
            "Input.dispatchMouseEvent", type=kind, button=button, buttons=int(pressed), modifiers=2 * control, **where
        )

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 4, control: bool = False) -> None:
        """From one place to another with the left button."""
        self.mouse("mouseMoved", start, control=control)
        self.run(DRAWN)
        self.mouse("mousePressed", start, True, control)
        for k in range(1, steps + 1):
            at = tuple(a + k / steps * (b - a) for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", at, True, control)
            if control:
                self.run(DRAWN)
        self.mouse("mouseReleased", end, control=control)

    def png(self) -> bytes:
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
