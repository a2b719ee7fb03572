"""Access to a live view: browsers of this machine that have its token; and text that is never markup."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from inspect import isawaitable
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOCAL = ("127.0.0.1", "localhost", "::1")
_patching = threading.Lock()


def escape_markdown(text: object) -> str:
    """Text that Markdown (and MDX, where braces are code) shows as it is."""
    return "".join(c if c.isalnum() or ord(c) > 127 or c in " .,-()" else f"&#{ord(c)};" for c in str(text))


class Access:
    """Decides about requests: the host is this machine, the origin too, and the token or its cookie is right."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(16)
        self.guards = False  # whether a server asks here

    def refusal(self, path: str, headers: Any) -> str | None:
        """Why a request is refused, or None."""
        if urlsplit(f"//{headers.get('Host', '')}").hostname not in LOCAL:
            return "this view answers to 127.0.0.1 and localhost only"
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).hostname not in LOCAL:
            return "pages of other hosts may not use this view"
        cookie = SimpleCookie(headers.get("Cookie", "")).get(self.cookie)
        known = [*parse_qs(urlsplit(path).query).get("token", []), *([cookie.value] if cookie else [])]
        if not any(secrets.compare_digest(self.token.encode(), word.encode()) for word in known):
            return "open the whole address that was printed: its token is missing or wrong"
        return None

    @property
    def cookie(self) -> str:
        """The cookie's name: views on several ports of one host share their cookies."""
        return f"bough-{self.token[:6]}"

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Servers that viser starts in this block ask here first: it has no hook of its own for that."""
        from websockets.asyncio import server

        with _patching:
            original = server.serve

            def serve(*arguments: Any, **options: Any) -> Any:
                answer, self.guards = options.pop("process_request", None), True
                return original(*arguments, process_request=self._respond(answer), **options)

            server.serve = serve  # type: ignore[assignment,misc]
            try:
                yield
            finally:
                server.serve = original  # type: ignore[misc]

    def _respond(self, answer: Callable[..., Any] | None) -> Callable[..., Any]:
        async def process(connection: Any, request: Any) -> Any:
            why = self.refusal(request.path, request.headers)
            if why is not None:
                return connection.respond(403, f"{why}\n")
            found: Any = answer(connection, request) if answer is not None else None
            if isawaitable(found):
                found = await found
            if found is not None:
                found.headers["Set-Cookie"] = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            return found

        return process
