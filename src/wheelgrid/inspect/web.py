"""Asks one address of a web server for bytes: redirects, proxies, retries, and clear failures.

Only the standard library. Proxies and certificates come from the environment as urllib and OpenSSL
read it (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE). No credentials get into a message.
"""

from __future__ import annotations

import base64
import http.client
import re
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from typing import IO, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from wheelgrid.inspect.source import SourceError

__all__ = [
    "PROTOCOL_ERRORS",
    "Client",
    "Pause",
    "Response",
    "failure_text",
    "shown_address",
]

Response = http.client.HTTPResponse
Pause = Callable[[float], None]
PROTOCOL_ERRORS = (OSError, http.client.HTTPException, ValueError)
"""What urllib and http.client raise; ValueError for chunks and headers that are no numbers."""

_TIMEOUT = 30.0
_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each retry; after the last one the failure stands."""
_LONGEST_PAUSE = 20.0
_MOST_FAILURES = 60
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_NO_FILE = frozenset({401, 403, 404, 410})
_UNPRINTABLE = re.compile(r"[^ -~]")


class _RefusedError(Exception):
    """A redirect that is not followed."""


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def shown_address(url: str) -> str:
    """The address without user, password, query and fragment, of which each may hold secrets."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        host += f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return _UNPRINTABLE.sub("?", urlunsplit((parts.scheme, host, parts.path, "", "")))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only, never from https down to http."""

    def __init__(self, authorization: str) -> None:
        self._authorization = authorization

    def redirect_request(  # noqa: PLR0917 - as urllib calls it
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The next request; the password goes along only where the server stays the same."""
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme not in {"http", "https"} or (old.scheme, new.scheme) == ("https", "http"):
            msg = f"the server redirects from {old.scheme} to {new.scheme}, which is refused"
            raise _RefusedError(msg)
        following = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        if following is not None and self._authorization and _origin(old) == _origin(new):
            following.add_unredirected_header("Authorization", self._authorization)
        return following


def _opener(authorization: str) -> urllib.request.OpenerDirector:
    """Only what web servers need: urllib's own opener would also open files and ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(authorization),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


class Client:
    """One address that is asked again and again; `place` is how messages name it.

    Each failure in a row costs a longer pause until none is left; progress begins a new row.
    """

    def __init__(self, url: str, *, timeout: float = _TIMEOUT, pause: Pause = time.sleep) -> None:
        """Take the address apart; SourceError for one that is not http or https."""
        self.place = shown_address(url)
        try:
            parts = urlsplit(url)
            known = parts.scheme in {"http", "https"} and bool(parts.hostname)
            port = f":{parts.port}" if parts.port else ""
        except ValueError as error:
            raise SourceError(self.place, "is not an address") from error
        if not known or re.search(r"[\s\x00-\x1f\x7f]", url):
            raise SourceError(self.place, "only http and https addresses can be read")
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        self.url = urlunsplit((parts.scheme, host + port, parts.path or "/", parts.query, ""))
        self._authorization = ""
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._authorization = "Basic " + base64.b64encode(pair.encode()).decode()
        self._opener = _opener(self._authorization)
        self._timeout = timeout
        self._pause = pause
        self._in_a_row = self._in_all = 0

    def fail(self, reason: str, *, status: int = 0) -> NoReturn:
        """Raise SourceError for this address; what a server wrote is made printable."""
        raise SourceError(self.place, _UNPRINTABLE.sub("?", reason), status=status)

    def progress(self) -> None:
        """Bytes came: the next failure is the first of its row."""
        self._in_a_row = 0

    def failed(self, reason: str, *, wait: float = 0.0) -> None:
        """Spend patience on a failure that may pass; SourceError when none is left."""
        if self._in_a_row >= len(_PAUSES) or self._in_all >= _MOST_FAILURES:
            self.fail(f"{reason} ({self._in_all + 1} attempts)")
        seconds = min(max(wait, _PAUSES[self._in_a_row]), _LONGEST_PAUSE)
        self._in_a_row += 1
        self._in_all += 1
        self._pause(seconds)

    def get(self, headers: Mapping[str, str], *, suffix: str = "") -> Response:
        """The answer to one GET, whatever its status below 500 is; retried while it may help."""
        while True:
            try:
                return self._once(headers, suffix)
            except HTTPError as error:
                if error.code not in _BUSY:
                    error.close()
                    self.fail(_status_text(error), status=error.code)
                wait = error.headers.get("Retry-After", "")
                error.close()
                self.failed(_status_text(error), wait=float(wait) if wait.isdecimal() else 0.0)
            except _RefusedError as error:
                self.fail(str(error))
            except PROTOCOL_ERRORS as error:
                reason = failure_text(error)
                if _is_final(error):
                    self.fail(reason)
                self.failed(reason)

    def find(self, headers: Mapping[str, str], *, suffix: str = "") -> Response | None:
        """As `get`; None where the server has no such file, or does not show it."""
        try:
            return self.get(headers, suffix=suffix)
        except SourceError as error:
            if error.status in _NO_FILE:
                return None
            raise

    def _once(self, headers: Mapping[str, str], suffix: str) -> Response:
        parts = urlsplit(self.url)
        url = urlunsplit(parts._replace(path=parts.path + suffix))
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - checked above
        request.add_header("Accept-Encoding", "identity")
        request.add_header("User-Agent", "wheelgrid")
        if self._authorization:
            request.add_unredirected_header("Authorization", self._authorization)
        response = self._opener.open(request, timeout=self._timeout)
        if not isinstance(response, http.client.HTTPResponse):
            msg = "the server gave no answer"
            raise http.client.HTTPException(msg)
        return response


def _status_text(error: HTTPError) -> str:
    if 300 <= error.code < 400:  # noqa: PLR2004 - statuses of redirects
        scheme = urlsplit(error.headers.get("Location", "")).scheme
        if scheme not in {"", "http", "https"}:
            return f"the server redirects to {scheme}:, which is refused"
        return "the server redirects without end"
    return f"the server answers {error.code} {http.client.responses.get(error.code, '')}".rstrip()


def failure_text(error: Exception) -> str:
    """What went wrong on the way, in words without addresses."""
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return "the server does not answer in time"
    if isinstance(reason, http.client.RemoteDisconnected | ConnectionResetError):
        return "the server closed the connection"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {reason.verify_message}"
    if isinstance(reason, OSError):
        return f"cannot be reached: {reason.strerror or type(reason).__name__}"
    return f"cannot be reached: {type(reason).__name__}"


def _is_final(error: Exception) -> bool:
    """Whether asking again cannot help: no such host, nobody listens, no trust."""
    reason = error.reason if isinstance(error, URLError) else error
    kinds = (ssl.SSLCertVerificationError, socket.gaierror, ConnectionRefusedError)
    return isinstance(reason, (*kinds, str, http.client.InvalidURL))
