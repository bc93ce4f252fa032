"""The socket of the server, its token, and the line for a package that is missing."""

import ctypes
import socket
import struct
import sys

import pytest
from typer.testing import CliRunner

from luce.cli import app
from luce.cli.serve import TOKEN, _token
from luce.errors import MissingPackageError, OptionError
from luce.serve.server import ATTACH_FILTER, _drop_new_connections, _listener


def test_the_socket_sends_at_once_and_an_address_in_use_is_an_error():
    with _listener("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        port = listener.getsockname()[1]
        with pytest.raises(OptionError, match=f"cannot listen on 127.0.0.1, port {port}: "):
            _listener("127.0.0.1", port)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="The filter is one of Linux.")
def test_new_connections_are_dropped_and_open_ones_are_not():
    with _listener("127.0.0.1", 0) as listener, socket.socket() as before, socket.socket() as after:
        before.connect(listener.getsockname())
        accept_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0xFFFFFFFF))
        try:
            listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(accept_all)))
        except OSError:
            pytest.skip("No filter may be attached here.")
        _drop_new_connections(listener)
        after.settimeout(0.5)
        with pytest.raises(TimeoutError):
            after.connect(listener.getsockname())
        accepted, _ = listener.accept()
        with accepted:
            before.sendall(b"more")
            assert accepted.recv(4) == b"more"


def test_the_token_is_one_line_of_visible_characters(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text(" secret\n")
    monkeypatch.setenv(TOKEN, "other")
    assert (_token(file), _token(None)) == ("secret", "other")
    for wrong in ("", "\n", "a b", "a\nb", "é", "a\x00"):
        file.write_text(wrong)
        with pytest.raises(OptionError, match="must contain a token"):
            _token(file)
    monkeypatch.delenv(TOKEN)
    assert _token(None) is None


def test_a_missing_package_is_an_error_with_the_line_that_installs_it(linear, monkeypatch):
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "starlette" or name.startswith("luce.serve")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette", None)
    result = CliRunner().invoke(app, ["serve", str(linear)])
    assert isinstance(result.exception, MissingPackageError) and "pip install 'luce[serve]'" in str(result.exception)
