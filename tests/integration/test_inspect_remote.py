"""Wheels on a server: ranges, servers without them, broken transfers, changed files, redirects."""

from __future__ import annotations

import base64
import contextlib
import io
import random
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from wheelgrid.inspect.archive import open_archive
from wheelgrid.inspect.http_source import HttpSource
from wheelgrid.inspect.place import open_source
from wheelgrid.inspect.source import FileSource, SourceError

NAME = "demo-1.0-py3-none-any.whl"


@lru_cache
def wheel() -> bytes:
    """An archive of about 3 MB that does not compress, and its small metadata."""
    blob = random.Random(1).randbytes(3_000_000)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("demo/first.bin", blob[:1_000_000])
        archive.writestr("demo/large.bin", blob)
        archive.writestr("demo-1.0.dist-info/METADATA", "Name: demo\n")
    return file.getvalue()


@dataclass
class Behaviour:
    """What the server does with the next requests."""

    data: bytes = b""
    ranges: bool = True
    suffix: bool = True
    length: bool = True
    etag: str = '"one"'
    breaks: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    redirect: str = ""
    password: str = ""
    beside: bytes | None = None
    asked: list[str] = field(default_factory=list)
    retry_after: str = ""


class Handler(BaseHTTPRequestHandler):
    """A web server with faults."""

    behaviour: Behaviour

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer as the behaviour says."""
        how = self.behaviour
        wanted = self.headers.get("Range", "")
        how.asked.append(wanted)
        if how.redirect and self.path.startswith("/old"):
            self.answer(302, {"Location": how.redirect})
        elif how.statuses:
            self.answer(how.statuses.pop(0), {"Retry-After": how.retry_after})
        elif how.password and self.headers.get("Authorization") != how.password:
            self.answer(401, {})
        elif self.path.endswith(".metadata"):
            self.answer(200 if how.beside is not None else 404, {}, how.beside or b"")
        elif wanted.startswith("bytes=-") and not how.suffix:
            self.answer(501, {})
        else:
            self.file(wanted)

    def file(self, wanted: str) -> None:
        """The file or a part of it, perhaps cut off."""
        how = self.behaviour
        fresh = self.headers.get("If-Range", how.etag) == how.etag
        headers = {"ETag": how.etag} if how.etag else {}
        if not (how.ranges and wanted and fresh):
            self.answer(200, headers, how.data)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        size = len(how.data)
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        self.answer(206, headers, how.data[start:end])

    def answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        """Send it; the connection ends early where the behaviour says so."""
        how = self.behaviour
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        if how.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = how.breaks.pop(0) if body and how.breaks else len(body)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body[:cut])


@dataclass
class Server:
    """A running server."""

    how: Behaviour
    port: int

    def url(self, path: str = f"/{NAME}", user: str = "") -> str:
        return f"http://{user}127.0.0.1:{self.port}{path}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    how = Behaviour(data=wheel())
    handler = type("Bound", (Handler,), {"behaviour": how})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Server(how, http.server_address[1])
        http.shutdown()
        thread.join()


@pytest.fixture
def pauses() -> list[float]:
    return []


def read_all(source: HttpSource) -> bytes:
    return b"".join(source.read_at(at, 100_000) for at in range(0, source.size, 100_000))


def test_only_the_parts_that_are_looked_at_travel(server: Server) -> None:
    with HttpSource(server.url()) as source:
        archive = open_archive(source)
        assert (source.name, source.size) == (NAME, len(server.how.data))
        assert source.transferred == 66 * 1024
        entry = next(e for e in archive.entries if e.path.endswith("METADATA"))
        assert archive.read(entry, 100) == b"Name: demo\n"
        # It lies in the tail that came first.
        assert source.transferred == 66 * 1024
        assert source.notes == ()
    assert server.how.asked == ["bytes=-67584"]


def test_members_in_order_cost_few_requests_and_arrive_whole(server: Server) -> None:
    with HttpSource(server.url()) as source:
        archive = open_archive(source)
        for entry in archive.entries:
            assert sum(map(len, archive.chunks(entry))) == entry.size
        assert source.transferred < len(server.how.data) + 2 * 66 * 1024
    assert len(server.how.asked) < 8


def test_every_place_reads_as_in_the_file(server: Server) -> None:
    data, rng = server.how.data, random.Random(2)
    with HttpSource(server.url()) as source:
        for _ in range(60):
            at, size = rng.randrange(len(data) + 10), rng.choice([0, 1, 30, 5_000, 700_000])
            assert source.read_at(at, size) == data[at : at + size]


def test_a_server_that_cannot_count_from_the_end(server: Server) -> None:
    server.how.suffix = False
    with HttpSource(server.url()) as source:
        assert len(open_archive(source).entries) == 3
        assert source.transferred < 400_000


@pytest.mark.parametrize("length", [True, False])
def test_a_server_without_ranges_sends_the_whole_file_once(server: Server, *, length: bool) -> None:
    server.how.ranges, server.how.length = False, length
    with HttpSource(server.url()) as source:
        assert read_all(source) == server.how.data
        assert source.transferred == source.size
        assert "no ranges" in source.notes[0]
    assert len(server.how.asked) == 1


@pytest.mark.parametrize("length", [True, False])
def test_a_whole_file_has_a_bound(server: Server, *, length: bool) -> None:
    server.how.ranges, server.how.length = False, length
    with pytest.raises(SourceError, match="more than 1000 bytes"):
        HttpSource(server.url(), most=1000)


def test_w32_a_transfer_that_ends_early_is_resumed(server: Server, pauses: list[float]) -> None:
    """The response has a Content-Length, and ends before it (pytorch/pytorch#110847)."""
    server.how.ranges = False
    server.how.breaks = [2_100_000, 2_900_000]
    with HttpSource(server.url(), pause=pauses.append) as source:
        assert read_all(source) == server.how.data
    assert server.how.asked[1].startswith("bytes=2100000-")
    assert server.how.asked[2].startswith("bytes=2900000-")
    assert pauses == [0.5, 0.5]


def test_w32_what_stays_short_is_called_truncated(server: Server, pauses: list[float]) -> None:
    server.how.ranges = False
    server.how.breaks = [2_100_000] * 20
    with pytest.raises(SourceError) as caught:
        HttpSource(server.url(), pause=pauses.append)
    size = len(server.how.data)
    assert f"truncated: 2100000 of {size} bytes came" in caught.value.reason
    assert pauses == [0.5, 1.0, 2.0, 4.0]


def test_a_range_that_ends_early_is_resumed(server: Server, pauses: list[float]) -> None:
    with HttpSource(server.url(), pause=pauses.append) as source:
        server.how.breaks = [100_000, 0, 10]
        assert source.read_at(0, 250_000) == server.how.data[:250_000]
    assert server.how.asked[2].startswith("bytes=100000-")
    assert pauses == [0.5, 1.0, 0.5]


@pytest.mark.parametrize("etag", ['"two"', 'W/"two"'])
def test_a_file_that_changed_is_an_error(server: Server, etag: str) -> None:
    with HttpSource(server.url()) as source:
        server.how.etag = etag
        with pytest.raises(SourceError, match="changed on the server"):
            source.read_at(0, 1000)


def test_a_file_that_changed_without_a_tag_is_an_error(server: Server) -> None:
    server.how.etag = ""
    with HttpSource(server.url()) as source:
        server.how.data = server.how.data[:-1]
        with pytest.raises(SourceError, match="changed on the server while it was read: it had"):
            source.read_at(0, 1000)


def test_a_busy_server_is_asked_again(server: Server, pauses: list[float]) -> None:
    server.how.statuses, server.how.retry_after = [503, 429], "3"
    with HttpSource(server.url(), pause=pauses.append) as source:
        assert source.size == len(server.how.data)
    assert pauses == [3.0, 3.0]


def test_a_server_that_stays_busy_is_left(server: Server, pauses: list[float]) -> None:
    server.how.statuses = [503] * 20
    with pytest.raises(SourceError, match=r"503 Service Unavailable \(5 attempts\)"):
        HttpSource(server.url(), pause=pauses.append)


def test_a_missing_file_is_said_at_once(server: Server, pauses: list[float]) -> None:
    server.how.statuses = [404]
    with pytest.raises(SourceError, match="the server answers 404 Not Found"):
        HttpSource(server.url(), pause=pauses.append)
    assert pauses == []


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://localhost/x", "data:,x"])
def test_redirects_lead_to_web_servers_only(server: Server, target: str) -> None:
    server.how.redirect = target
    with pytest.raises(SourceError, match=r"redirects .*which is refused"):
        HttpSource(server.url("/old"))


def test_redirects_are_followed(server: Server) -> None:
    server.how.redirect = server.url()
    with HttpSource(server.url("/old/" + NAME)) as source:
        assert source.read_at(5, 3) == server.how.data[5:8]


def test_redirects_in_a_circle_end(server: Server) -> None:
    server.how.redirect = "/old"
    with pytest.raises(SourceError, match="redirects without end"):
        HttpSource(server.url("/old"))


def test_credentials_are_sent_and_never_shown(server: Server) -> None:
    server.how.password = "Basic " + base64.b64encode(b"me:s3cret/").decode()
    server.how.redirect = server.url()
    url = server.url(f"/old/{NAME}?token=abc", "me:s3cret%2F@")
    with HttpSource(url) as source:
        assert source.place == server.url(f"/old/{NAME}")
    server.how.statuses = [404]
    with pytest.raises(SourceError) as caught:
        HttpSource(server.url(user="me:s3cret@") + "?token=abc")
    assert "s3cret" not in str(caught.value)
    assert "abc" not in str(caught.value)


def test_credentials_stay_with_their_server(server: Server) -> None:
    """Another port is another server (RFC 6454)."""
    seen = Behaviour(data=server.how.data)
    seen.password = "Basic " + base64.b64encode(b"me:s3cret").decode()
    handler = type("Other", (Handler,), {"behaviour": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.how.redirect = f"http://127.0.0.1:{other.server_address[1]}/{NAME}"
        with pytest.raises(SourceError, match="401"):
            HttpSource(server.url("/old", "me:s3cret@"))
        other.shutdown()
        thread.join()


def test_metadata_without_the_wheel(server: Server) -> None:
    server.how.beside = b"Name: demo\n"
    with HttpSource(server.url()) as source:
        assert source.metadata() == b"Name: demo\n"
        server.how.beside = None
        assert source.metadata() is None


def test_metadata_that_is_cut_off_is_not_taken(server: Server) -> None:
    server.how.beside = b"Name: demo\n"
    with HttpSource(server.url()) as source:
        server.how.breaks = [4]
        with pytest.raises(SourceError, match="truncated"):
            source.metadata()


def test_nobody_listens(pauses: list[float]) -> None:
    with pytest.raises(SourceError, match="cannot be reached"):
        HttpSource("http://127.0.0.1:1/x.whl", pause=pauses.append)
    assert pauses == []


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/x", "http://", "http://h:port/", "http://h/a b"]
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(SourceError):
        open_source(url)


def test_a_file_on_disk(tmp_path: Path, server: Server) -> None:
    path = tmp_path / NAME
    path.write_bytes(server.how.data)
    with open_source(str(path)) as source:
        assert isinstance(source, FileSource)
        assert (source.name, source.size, source.transferred) == (NAME, len(server.how.data), 0)
        assert source.read_at(source.size - 2, 10) == server.how.data[-2:]
        assert len(open_archive(source).entries) == 3
    with pytest.raises(SourceError, match="is not a file"):
        open_source(str(tmp_path))
