"""Asks a web address for an action: the message is sent by POST, and the answer is the body of the response.

A timeout of a socket limits every single wait, not their sum: a server that sends a byte now and then could hold a
question forever. So a thread makes the request. The one that asks waits for it until the deadline and then shuts the
connection down, which ends the thread.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import urllib.parse
from contextlib import suppress
from typing import Final

from symphony9_env.agents.message import AgentMessage
from symphony9_env.agents.transports import MAX_ANSWER_BYTES, MAX_REASON_LENGTH, NoAnswer, shorten

END_SECONDS: Final = 1.0  # how long to wait for the end of a thread whose connection was shut down


class HttpTransport:
    """Sends the message by POST to a web address. Follows no redirects and uses no proxy."""

    def __init__(self, address: str, timeout: float) -> None:
        try:
            parts = urllib.parse.urlsplit(address)
            has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            has_host = False
        if not has_host:
            raise ValueError(f"agent {address!r}: has no host; needed: an address such as http://localhost:8000/decide")
        self._address = parts
        self._timeout = timeout

    def ask(self, message: AgentMessage) -> str:
        request = _Request(self._address, json.dumps(message).encode(), self._timeout)
        request.wait()
        if request.failure is not None:
            raise NoAnswer(request.failure)
        return request.answer

    def fingerprint(self) -> str:
        return ""

    def close(self) -> None:
        """Do nothing: every question is a connection of its own."""


class _Request:
    """One request on a thread of its own: its answer, or why there is none."""

    def __init__(self, address: urllib.parse.SplitResult, body: bytes, timeout: float) -> None:
        self.answer = ""
        self.failure: str | None = f"gave no answer within {timeout:g} seconds"
        self._address = address
        self._body = body
        self._timeout = timeout
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None  # a duplicate, for shutting the connection down from outside
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="agent request")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the request has ended, and end it at the deadline.

        The thread outlives this call only while the system looks up the name of a host, which can't be interrupted.
        """
        try:
            self._thread.join(self._timeout)
        finally:
            self._end()
            self._thread.join(END_SECONDS)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
                self._socket.close()

    def _run(self) -> None:
        answer, failure = "", None
        try:
            answer = self._send()
        except TimeoutError:
            failure = self.failure
        except NoAnswer as error:
            failure = str(error)
        except http.client.HTTPException as error:
            failure = f"gave no valid HTTP response ({type(error).__name__}: {shorten(str(error))})"
        except Exception as error:  # an OSError, or whatever else the other side may cause
            failure = f"can't be reached ({shorten(str(error))})"
        with self._lock:
            if not self._is_over:
                self.answer, self.failure = answer, failure

    def _send(self) -> str:
        """Send the message and return the body of the response."""
        host, port = self._address.hostname or "", self._address.port
        is_encrypted = self._address.scheme == "https"
        kind = http.client.HTTPSConnection if is_encrypted else http.client.HTTPConnection
        connection = kind(host, port, timeout=self._timeout)
        try:
            connection.sock = self._connect(host, connection.port)
            if is_encrypted:
                connection.sock = ssl.create_default_context().wrap_socket(connection.sock, server_hostname=host)
            target = urllib.parse.urlunsplit(("", "", self._address.path or "/", self._address.query, ""))
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", target, self._body, headers)
            with connection.getresponse() as response:
                return _read_response(response)
        finally:
            connection.close()

    def _connect(self, host: str, port: int) -> socket.socket:
        """Return a connection that `wait` can shut down."""
        connection = socket.create_connection((host, port), self._timeout)
        with self._lock:
            if self._is_over:
                connection.close()
                raise TimeoutError
            self._socket = connection.dup()  # encryption takes the original over
        return connection


def _read_response(response: http.client.HTTPResponse) -> str:
    """Return the body of a response; raise `NoAnswer` or an HTTPException if that is no answer."""
    if 300 <= response.status < 400:
        raise NoAnswer(f"answered with status {response.status}, a redirect; redirects are not followed")
    if not 200 <= response.status < 300:
        text = shorten(_read_start(response))
        raise NoAnswer(f"answered with status {response.status}{f': {text}' if text else ''}")
    body = _read_body(response, MAX_ANSWER_BYTES + 1)
    if len(body) > MAX_ANSWER_BYTES:
        raise NoAnswer(f"answered with more than {MAX_ANSWER_BYTES:,} bytes")
    if response.length:  # bytes that were announced and did not come
        raise http.client.IncompleteRead(body, response.length)
    return body.decode(errors="replace")


def _read_start(response: http.client.HTTPResponse) -> str:
    """Return the start of the body, as far as it can be read."""
    with suppress(OSError, ValueError, http.client.HTTPException):
        return _read_body(response, 4 * MAX_REASON_LENGTH).decode(errors="replace")
    return ""


def _read_body(response: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """Return the body or its first `max_bytes`.

    `read` would not do: it reads a chunk of the size -1 to the end of the connection, whatever its own limit is.
    """
    body = bytearray()
    while len(body) < max_bytes and (part := response.read1(max_bytes - len(body))):
        body += part
    return bytes(body[:max_bytes])
