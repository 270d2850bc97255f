"""A session's client in thirty lines: what a script would use to talk to the server.

Deliberately not the server's own HTTP client: the two must not share a mistake.
"""

from __future__ import annotations

import functools
import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
TIMEOUT_S = 120


@functools.cache
def trusting(cert: str) -> ssl.SSLContext:
    """What checks that a server has this certificate, whatever it is for."""
    context = ssl.create_default_context(cafile=cert)
    context.check_hostname = False
    return context


def connect(host: str, port: int, timeout: float, cert: str = "") -> http.client.HTTPConnection:
    """A connection that is not open yet. `cert`: the certificate of a server with TLS."""
    if cert:
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=trusting(cert))
    return http.client.HTTPConnection(host, port, timeout=timeout)


class Api:
    """One server and one key. `more`: headers of every request. `cert`: of a server with TLS."""

    def __init__(
        self, url: str, key: str = "", more: Mapping[str, str] | None = None, cert: str = ""
    ) -> None:
        self.url, self.key, self._more, self._cert = url, key, more or {}, cert

    def run(self, session: Json) -> Json:
        """The updated session. Raises RuntimeError when the server answers with anything else."""
        status, body = self.request("POST", "/session", session, accept="application/json")
        if status != 200:
            raise RuntimeError(f"{status}: {body}")
        assert isinstance(body, dict)
        return body

    def request(
        self, method: str, path: str, body: Any = None, *, accept: str = "application/json"
    ) -> tuple[int, Any]:
        """(status, body), the body parsed where it is JSON. Bytes are sent as they are."""
        connection = self._send(method, path, body, accept)
        try:
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = "json" in (answer.getheader("content-type") or "")
            return answer.status, json.loads(text) if is_json else text
        finally:
            connection.close()

    def bring_files(self, session: Json, source: Api) -> None:
        """Bring the files that the session's question names from another server, and say so."""
        (question,) = session["interrupts"]
        for each in question["objects"]:
            path = f"/objects/{each['sha256']}"
            status, content = source.request("GET", path)
            if status == 200:
                status, content = self.request("PUT", path, str(content).encode())
            if status not in (200, 201, 204):
                raise RuntimeError(f"{status}: {content}")
        question["answer"] = {"status": "resolved", "payload": {"action": "uploaded"}}

    def stream(self, session: Json, path: str = "/session") -> Stream:
        """The same run as a stream of events."""
        connection = self._send("POST", path, session, "text/event-stream")
        return Stream(connection, connection.getresponse())

    def _send(self, method: str, path: str, body: Any, accept: str) -> http.client.HTTPConnection:
        place, raw = urlsplit(self.url), isinstance(body, bytes)
        connection = connect(place.hostname or "", place.port or 0, TIMEOUT_S, self._cert)
        headers: Mapping[str, str] = {
            "Accept": accept,
            "Content-Type": "application/octet-stream" if raw else "application/json",
            **({"Authorization": f"Bearer {self.key}"} if self.key else {}),
            **self._more,
        }
        data = body if body is None or raw else json.dumps(body).encode()
        connection.request(method, path, data, dict(headers))
        return connection


class Stream:
    """The events of one run as they come; `text` is all that was read so far, as sent.

    A context manager: leaving it hangs up, as a closed page does.
    """

    def __init__(
        self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse
    ) -> None:
        self._connection, self._answer = connection, answer
        self.status = answer.status
        self.text = ""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._answer.close()
        self._connection.close()

    def events(self) -> Iterator[Any]:
        """Events, one a `data:` line; ends with the stream, wherever it is cut."""
        while True:
            try:
                line = self._answer.readline().decode()
            except (OSError, http.client.HTTPException):
                return
            self.text += line
            if line.startswith("data: {"):  # and not [DONE], which other fronts end with
                yield json.loads(line[6:])
            if not line:
                return
