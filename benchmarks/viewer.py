"""Pictures a second of the page with 10,000 links while a joint turns, by the browser of this machine.

The page itself leaves out what cannot be drawn in time; the note says what, and who draws.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from benchmarks.timing import Timing
from bough.errors import MissingExtraError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--enable-unsafe-swiftshader", "--no-first-run", "--window-size=1280,800")
MODEL, LINKS, MOST_SECONDS = "zoo:molecule?n=10000&seed=1", "10,000 links", 120.0
# Turns a joint in every picture until the page has left out enough, then times a hundred more
DRIVE = """
(async () => {
  const element = document.querySelector(".bough-scene"), picture = () => new Promise(requestAnimationFrame);
  while (element.dataset.ready !== "yes") await picture();
  const { q, pace, stage, move } = element.bough, gl = stage.gl, known = gl.getExtension("WEBGL_debug_renderer_info");
  const pictures = async (count) => { for (let k = 0; k < count; k++) { q[5] += 0.01; move(null); await picture(); } };
  for (let level = -1; level !== pace.level;) { level = pace.level; await pictures(25); }
  const began = performance.now();
  await pictures(100);
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // which waits for all that was asked for
  const found = { ms: (performance.now() - began) / 100, words: pace.moving.words || "nothing", by: gl.getParameter(
    known ? known.UNMASKED_RENDERER_WEBGL : gl.RENDERER) };
  await fetch("/", { method: "POST", body: JSON.stringify(found) });
})();
"""


def rows() -> list[Timing]:
    """Seconds for a picture."""
    found = measured(MODEL)
    note = f"left out while it moves: {found['words']}; drawn by {found['by']}"
    numbers = {"frames a second": 1000 / found["ms"]}
    return [Timing("viewer: one picture", "molecule", LINKS, {"bough": found["ms"] / 1000}, note, numbers=numbers)]


def measured(model: str) -> dict[str, Any]:
    """What the page of a model says of itself."""
    named = (os.environ.get("BOUGH_TEST_BROWSER"), *map(shutil.which, BROWSERS))
    browser = next((path for path in named if path), None)
    if browser is None:
        raise MissingExtraError("timing the viewer needs Chromium or Chrome, or BOUGH_TEST_BROWSER that names one")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "scene.html"
        subprocess.run([sys.executable, "-m", "bough", "view", model, "--html", str(page)], check=True, stdout=DEVNULL)
        text = page.read_text(encoding="utf-8").replace("</body>", f"<script>{DRIVE}</script></body>")
        server = PageServer(("127.0.0.1", 0), PageHandler)
        server.page, server.timeout = text.encode(), 1.0
        address = f"http://127.0.0.1:{server.server_port}/"
        started = subprocess.Popen(
            [browser, *FLAGS, f"--user-data-dir={folder}/profile", address], stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            end = monotonic() + MOST_SECONDS
            while server.found is None and monotonic() < end and started.poll() is None:
                server.handle_request()
        finally:
            started.kill()
            started.wait()
            server.server_close()
    if server.found is None:
        raise MissingExtraError(f"{browser} drew no pictures within {MOST_SECONDS:g} s")
    return server.found


class PageServer(HTTPServer):
    """A page for the browser, and what it answers."""

    page: bytes
    found: dict[str, Any] | None = None


class PageHandler(BaseHTTPRequestHandler):
    """Gives the page, takes what was measured."""

    server: PageServer

    def do_GET(self) -> None:
        self.reply(self.server.page if self.path == "/" else b"")

    def do_POST(self) -> None:
        self.server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.reply(b"")

    def reply(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return
