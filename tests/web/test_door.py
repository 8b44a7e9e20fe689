"""What the viewer refuses, and that it only reads."""

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.cli.shop import Shop
from tests.web.conftest import Site, serving


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Site]:
    """A viewer where nothing was ever traced."""
    yield from serving(Shop.at(tmp_path))


def test_every_page_of_an_empty_store_says_what_to_do(empty: Site) -> None:
    """No page is blank or an error, and looking makes no store."""
    for path in ("/", "/traces", "/runs", "/noise"):
        reply = httpx.get(empty.address + path)
        assert reply.status_code == 200
        assert "is stored yet" in reply.text
    assert not (empty.shop.folder / "store.db").exists()


def test_only_this_machine_may_ask(site: Site) -> None:
    """The port is bound to loopback, and another host's name is refused: no page can be read by rebinding."""
    port = urlsplit(site.address).port
    assert port is not None
    assert httpx.get(site.address, headers={"Host": "evil.example"}).status_code == 400
    with socket.socket() as other:
        assert other.connect_ex((_own_address(), port)) != 0


def _own_address() -> str:
    found = socket.gethostbyname(socket.gethostname())
    return found if not found.startswith("127.") else "127.0.0.77"


def test_nothing_can_be_changed(site: Site) -> None:
    """Every method but reading is refused."""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert httpx.request(method, site.address + "/traces").status_code == 405


def test_every_answer_carries_the_policy(site: Site) -> None:
    """No script, no frame, nothing from elsewhere; errors too."""
    for path in ("/", "/style.css", "/elsewhere", "/traces?above=x"):
        headers = httpx.get(site.address + path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_port_in_use_is_one_clear_sentence(tmp_path: Path) -> None:
    """It names the port and the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = Shop.at(tmp_path).tracehooks("view", "--port", str(port), "--no-browser")
    assert done.returncode == 2
    assert f"port {port} cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
