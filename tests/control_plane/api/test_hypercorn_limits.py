"""Every patch of Hypercorn is still needed, and does what it says.

A test of the first kind that fails says: Hypercorn does it itself by now, remove the patch.
"""

from __future__ import annotations

import inspect
import socket
import zlib

import pytest
from hypercorn.config import Config
from websockets.asyncio.client import connect
from wsproto.events import TextMessage

from codefy_control_plane import hypercorn_limits
from codefy_control_plane.server import Server, bind

ws_stream = hypercorn_limits.ws_stream
ORIGINAL_HANDSHAKE = hypercorn_limits._PlainHandshake.__base__  # pyright: ignore[reportPrivateUsage]
ORIGINAL_BUFFER = hypercorn_limits._BoundedBuffer.__base__  # pyright: ignore[reportPrivateUsage]

OFFER = [(b"sec-websocket-key", b"x"), (b"sec-websocket-extensions", b"permessage-deflate")]


def test_needed_deflate_is_still_on_without_a_switch() -> None:
    assert not any("deflate" in name for name in dir(Config))
    _, headers, _ = ORIGINAL_HANDSHAKE(OFFER, "1.1").accept(None, [])
    assert (b"sec-websocket-extensions", b"permessage-deflate") in [
        (name, value.partition(b";")[0].strip()) for name, value in headers
    ]


def test_needed_a_message_over_the_limit_is_still_kept() -> None:
    buffer = ORIGINAL_BUFFER(10)
    for _ in range(3):
        with pytest.raises(ws_stream.FrameTooLargeError):
            buffer.extend(TextMessage(data="x" * 100))
    assert buffer.value is not None
    assert len(buffer.value.getvalue()) == 300


def test_needed_its_sockets_are_still_inheritable() -> None:
    config = Config()
    config.bind = ["127.0.0.1:0"]
    (listener,) = config.create_sockets().insecure_sockets
    with listener:
        assert listener.get_inheritable()
    assert "set_inheritable(True)" in inspect.getsource(Config)


def test_a_message_over_the_limit_is_forgotten_and_its_rest_refused() -> None:
    buffer = hypercorn_limits._BoundedBuffer(10)  # pyright: ignore[reportPrivateUsage]
    buffer.extend(TextMessage(data="12345"))
    for _ in range(3):
        with pytest.raises(ws_stream.FrameTooLargeError):
            buffer.extend(TextMessage(data="123456"))
        assert buffer.value is None
    buffer.clear()
    buffer.extend(TextMessage(data="1234567890"))
    assert buffer.to_message()["text"] == "1234567890"


def test_our_socket_is_not_inherited_and_is_free_at_once() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert not listener.get_inheritable()
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)


async def test_no_extension_is_agreed_on_and_a_bomb_is_no_message(server: Server) -> None:
    url = server.url.replace("http://", "ws://") + "/ws/execution"
    headers = {"x-codefy-token": server.token}
    async with connect(url, proxy=None, additional_headers=headers, compression="deflate") as connection:
        assert connection.protocol.extensions == []
        # A frame that claims to be compressed is a protocol error where nothing was agreed on.
        packed = zlib.compress(b"x" * 1000)[2:-4]
        frame = bytes((0xC1, 0x80 | len(packed), 0, 0, 0, 0)) + packed
        connection.transport.write(frame)
        await connection.wait_closed()
        assert connection.close_code in (1002, 1006)
    async with connect(url, proxy=None, additional_headers=headers) as connection:
        await connection.send('{"type":"ping"}')
        assert await connection.recv() == '{"type":"pong","id":null}'
