"""Who may talk to the labelling server: its own page and nobody else. No browser needed."""

import http.cookiejar
import re
import socket
import urllib.error
import urllib.request

import pytest

pytest.importorskip("voila")
pytest.importorskip("anywidget")
TABLE = "id,x\n" + "".join(f"r{i},{i % 2 * 9 + i / 50}\n" for i in range(20))
KERNEL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CHANGES = (
    ("POST", "api/kernels"),
    ("POST", "api/kernels/{k}/interrupt"),
    ("DELETE", "api/kernels/{k}"),
    ("POST", "voila/api/shutdown/{k}"),
    ("POST", "api/sessions"),
    ("POST", "api/terminals"),
    ("PUT", "api/contents/x"),
    ("POST", "api/shutdown"),
)


class Browser:
    "A browser with its cookies, which a foreign page may make send requests."

    def __init__(self, base):
        self.base, self.jar = base, http.cookiejar.CookieJar()
        keep = urllib.request.HTTPCookieProcessor(self.jar)
        self.opener = urllib.request.build_opener(keep)

    def ask(self, path, method="GET", **headers):
        data = None if method in ("GET", "DELETE") else b"{}"
        request = urllib.request.Request(
            self.base + path, data=data, headers=headers, method=method
        )
        try:
            with self.opener.open(request, timeout=240) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, "", ""

    def cookie(self, name):
        return next(c.value for c in self.jar if c.name == name)


def handshake(port, kernel, origin, host, cookies):
    "The first line of the answer to a WebSocket of a page of `origin`."
    lines = [
        f"GET /api/kernels/{kernel}/channels HTTP/1.1",
        f"Host: {host}",
        f"Origin: {origin}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==",
        f"Cookie: {cookies}",
    ]
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return s.recv(200).split(b"\r\n")[0].decode()


def test_nobody_but_the_page_itself_talks_to_the_server(tmp_path, monkeypatch):
    from csc_nb.cli import ask_settings, parser
    from csc_nb.page import Site

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    settings = ask_settings(parser().parse_args(["ask", "t.csv"]))
    with Site({**settings, "first_screen": True}) as site:
        base = f"http://127.0.0.1:{site.port}/"
        person, stranger = Browser(base), Browser(base)
        _, _, page = person.ask(site.url.removeprefix(base))
        kernel = KERNEL.search(page)[0]
        for path in ("", "api/kernels", "api/contents"):
            status, where, _ = stranger.ask(path)
            assert status in (403, 404) or "/login" in where, path
        for method, path in CHANGES:  # with the person's cookies, without the page's token
            path = path.format(k=kernel)
            foreign = person.ask(path, method, Origin="http://evil.example")[0]
            assert foreign in (403, 404), path  # 404: Jupyter's word for another origin
            assert person.ask(path, method)[0] == 403, path
            assert stranger.ask(path, method)[0] == 403, path
        cookies = "; ".join(f"{c.name}={c.value}" for c in person.jar)
        host = f"127.0.0.1:{site.port}"
        open_to = lambda origin, at, has: handshake(site.port, kernel, origin, at, has)
        assert " 101 " in open_to(f"http://{host}", host, cookies)
        assert " 403 " in open_to("http://evil.example", host, cookies)
        assert " 403 " in open_to("http://evil.example", "evil.example", cookies)
        assert " 403 " in open_to(f"http://{host}", host, "")
        token = {"X-XSRFToken": person.cookie("_xsrf")}
        assert person.ask(f"voila/api/shutdown/{kernel}", "POST", **token)[0] == 204
