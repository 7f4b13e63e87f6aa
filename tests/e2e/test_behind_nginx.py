"""A real nginx in front: TLS and a login of its own, a prefix that it passes on or takes away."""

import base64
import http.client
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import yaml

from tests.e2e.harness import Server, ended, wait_for
from tests.expose.crawl import reached
from tests.support.certificates import self_signed, trusting
from tests.support.patience import PATIENCE
from tests.support.ports import free_port
from tests.support.tools import require

pytestmark = pytest.mark.e2e

NGINX = """
daemon off;
pid nginx.pid;
error_log error.log;
{user}
events {{}}
http {{
  access_log off;
  {temporary}
  server {{
    listen 127.0.0.1:{front} ssl;
    ssl_certificate server.pem;
    ssl_certificate_key server.key;
    auth_basic "site";
    auth_basic_user_file users;
    proxy_set_header X-Forwarded-For $remote_addr;
    location /esewatch/ {{ proxy_pass http://127.0.0.1:{back}{end}; }}
  }}
}}
"""
LOGIN = base64.b64encode(b"alice:wonder").decode()
EVENTS = (
    '{"TimeCreated":"2007-06-01T00:00:00Z","EventID":700,"Computer":"ex01","ProviderName":"ESE",'
    '"EventData":{"Data":["MSExchangeIS","1","SG06: ","e:\\\\mdb06\\\\priv06.edb"]}}\n'
)


class Site:
    """An agent, and the nginx that people reach it through."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.folder = folder
        self.front, self.back = free_port(), free_port()
        self.context = trusting(folder)
        self.url = f"https://127.0.0.1:{self.front}/esewatch"
        (folder / "a.json").write_text(EVENTS)
        sources = [{"type": "event_stream", "path": "a.json"}]
        (folder / "esewatch.yml").write_text(
            yaml.safe_dump({"journal": "journal.db", "sources": sources})
        )
        self.command: list[str | Path] = [
            *(sys.executable, "-m", "esewatch", "run", "--config.file", folder / "esewatch.yml"),
            *("--web.listen-address", f"127.0.0.1:{self.back}"),
            *("--web.external-url", self.url, *words),
        ]

    def nginx(self, end: str) -> list[str | Path]:
        """The command of nginx, which begins what it passes on with `end` where that is given."""
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        text = NGINX.format(
            user="user root;" if os.geteuid() == 0 else "",
            temporary="".join(f"{kind}_temp_path {kind};" for kind in kinds),
            front=self.front,
            back=self.back,
            end=end,
        )
        (self.folder / "nginx.conf").write_text(text)
        (self.folder / "users").write_text("alice:{PLAIN}wonder\n")
        return [require("nginx"), "-e", "error.log", "-p", f"{self.folder}/", "-c", "nginx.conf"]

    def get(self, url: str, login: str = LOGIN, method: str = "GET") -> tuple[int, str, str]:
        """Status, content type (of a redirect its place) and text."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.front, timeout=PATIENCE, context=self.context
        )
        with closing(connection):
            where = urlsplit(url)
            path = f"{where.path}?{where.query}" if where.query else where.path
            connection.request(method, path, headers={"Authorization": f"Basic {login}"})
            answer = connection.getresponse()
            kind = answer.getheader("Location") or answer.getheader("Content-Type") or ""
            return answer.status, kind, answer.read().decode()

    def ready(self) -> bool:
        try:
            return self.get(f"{self.url}/-/ready")[0] == 200
        except (OSError, ssl.SSLError):
            return False


@pytest.fixture(params=[("", ()), ("/", ("--web.route-prefix", "/"))], ids=["passed on", "taken"])
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    end, words = request.param
    self_signed("one").put(tmp_path, "server")
    made = Site(tmp_path, [*words])
    nginx = made.nginx(end)
    agent = Server(made.command, f"http://127.0.0.1:{made.back}", tmp_path / "agent.log")
    with ended(agent), ended(Server(nginx, made.url, tmp_path / "nginx.log")):
        wait_for("the agent behind nginx", made.ready)
        yield made


def test_every_page_is_reached_through_nginx_and_nothing_changes_through_it(site: Site) -> None:
    start = f"{site.url}/"
    found = reached(site.get, start)
    assert all(url.startswith(start) for url in found)
    assert f"{start}runbooks/EseKnownBadPage" in found
    assert any(url.startswith(f"{start}database?computer=ex01") for url in found)
    status, to, _ = site.get(f"{start}runbooks")
    assert (status, urljoin(f"{start}runbooks", to)) == (302, f"{start}runbooks/")
    metrics = site.get(f"{start}metrics")[2]
    assert f'esewatch_web_info{{external_url="{site.url}"}} 1' in metrics
    assert site.get(start, login="")[0] == 401
    assert site.get(f"{start}-/reload", method="POST")[0] == 403


def test_a_command_reaches_the_agent_beside_nginx(site: Site) -> None:
    def forgetting(address: str) -> subprocess.CompletedProcess[str]:
        words = ("forget", "--config.file", str(site.folder / "esewatch.yml"), "--web.address")
        return subprocess.run(
            [sys.executable, "-m", "esewatch", *words, address, "e:\\mdb06\\priv06.edb"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    own = f"127.0.0.1:{site.back}"
    done = forgetting(f"{own}/esewatch")
    if done.returncode:  # nginx takes the prefix away: the agent has none
        assert "404 Not Found" in done.stderr
        done = forgetting(own)
    assert (done.returncode, done.stderr) == (0, "")
