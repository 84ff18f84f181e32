#!/usr/bin/env python3
"""20 ordinary viewers of a stream, 8 over RTSP with TCP, 8 with UDP, and 4 over HLS; prints as JSON how many frames they lost.

usage: ordinary_viewers.py SERVER HTTP HTTPS RTSP SECONDS [TOKEN]

An RTSP viewer loses a frame where the sequence numbers of its RTP packets have a gap; an HLS viewer where it misses a
segment. Says "watching" on standard error when all of them play.
"""
import json
import re
import select
import socket
import sys
import threading
import time

from visitor import Visitor, read_response

RTSP_VIEWERS, HLS_VIEWERS = 16, 4


class Player:
    """An RTSP viewer of the first track over TCP, or over UDP."""

    def __init__(self, visitor, over_udp, query):
        self.connection, self.data, self.datagrams = visitor.connect(visitor.rtsp), b"", []
        transport = "RTP/AVP/TCP;unicast;interleaved=0-1"
        if over_udp:
            self.datagrams, port = datagram_sockets()
            transport = f"RTP/AVP;unicast;client_port={port}-{port + 1}"
        url = f"rtsp://{visitor.host}:{visitor.rtsp}/live"
        session = self.ask(f"SETUP {url}/trackID=0{query}", f"Transport: {transport}")
        self.session = re.search(r"Session: ([^;\r]+)", session).group(1)
        url += query
        self.url, self.frames, self.lost, self.last, self.closed = url, 0, 0, None, False
        # RTP timestamp of the last packet, and the maximum step from a frame's to the next one's, in ticks of 90 kHz.
        self.timestamp, self.step = None, 0
        self.ask(f"PLAY {url}", f"Session: {self.session}")
        self.begin = time.monotonic()
        self.connection.setblocking(False)

    def ask(self, line, field):
        self.connection.sendall(f"{line} RTSP/1.0\r\nCSeq: 1\r\n{field}\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.data:
            piece = self.connection.recv(65536)
            if not piece:
                raise OSError("closed")
            self.data += piece
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        assert head.split()[1] == b"200", head
        return head.decode()

    def receive(self):
        try:
            piece = self.connection.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self.closed = True
            return
        self.data += piece
        offset = 0
        while len(self.data) - offset >= 4:
            if self.data[offset] != 0x24:
                # The response to a keep-alive.
                end = self.data.find(b"\r\n\r\n", offset)
                if end < 0:
                    break
                offset = end + 4
                continue
            length = int.from_bytes(self.data[offset + 2:offset + 4], "big")
            if len(self.data) - offset < 4 + length:
                break
            if self.data[offset + 1] == 0:
                self.count(self.data[offset + 4:offset + 4 + length])
            offset += 4 + length
        self.data = self.data[offset:]

    def receive_datagrams(self):
        try:
            while True:
                self.count(self.datagrams[0].recv(65536))
        except BlockingIOError:
            pass

    def count(self, packet):
        number = int.from_bytes(packet[2:4], "big")
        if self.last is not None and number != (self.last + 1) & 0xFFFF:
            self.lost += (number - self.last - 1) & 0xFFFF
        self.last = number
        self.frames += packet[1] >> 7
        timestamp = int.from_bytes(packet[4:8], "big")
        if self.timestamp is not None:
            self.step = max(self.step, (timestamp - self.timestamp) & 0xFFFFFFFF)
        self.timestamp = timestamp

    def keep_alive(self):
        try:
            self.connection.send(f"GET_PARAMETER {self.url} RTSP/1.0\r\nCSeq: 2\r\nSession: {self.session}\r\n\r\n".encode())
        except OSError:
            self.closed = True


def datagram_sockets():
    """Sockets of an even port and the next one, RFC 3550 §11, and the first port."""
    while True:
        first, second = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        first.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        first.bind(("", 0))
        port = first.getsockname()[1]
        try:
            if port % 2 == 0:
                second.bind(("", port + 1))
                first.setblocking(False)
                return [first, second], port
        except OSError:
            pass
        first.close()
        second.close()


def watch_hls(visitor, end, query, result):
    """Fetches every segment of the playlist in order on one connection."""
    segments, missed, failures, last, connection = 0, 0, 0, None, visitor.connect(visitor.http)

    def fetch(path):
        nonlocal connection, failures
        for _ in range(2):
            try:
                connection.sendall(f"GET {path}{query} HTTP/1.1\r\nHost: {visitor.host}\r\n\r\n".encode())
                status, _, body = read_response(connection)
                if status == 200:
                    return body
            except OSError:
                pass
            failures += 1
            connection = visitor.connect(visitor.http)
        return b""

    while time.monotonic() < end:
        text = fetch("/live/playlist.m3u8").decode()
        number = int((re.findall(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text) or [0])[0])
        for name in re.findall(r"^([^#\s?]+\.ts)(?:\?\S*)?$", text, re.M):
            if last is None or number > last:
                missed += 0 if last is None else number - last - 1
                missed += 0 if fetch("/live/" + name).startswith(b"G") else 1
                segments, last = segments + 1, number
            number += 1
        time.sleep(0.5)
    result.append({"segments": segments, "missed": missed, "failures": failures})


def main():
    server, http, https, rtsp, seconds, *token = sys.argv[1:]
    query = "".join("?token=" + text for text in token)
    visitor = Visitor(server, int(http), int(https), int(rtsp))
    players = [Player(visitor, over_udp=number % 2 == 1, query=query) for number in range(RTSP_VIEWERS)]
    end, hls = time.monotonic() + float(seconds), []
    threads = [threading.Thread(target=watch_hls, args=(visitor, end, query, hls)) for _ in range(HLS_VIEWERS)]
    for thread in threads:
        thread.start()
    by_socket = {player.connection: player for player in players}
    by_datagrams = {player.datagrams[0]: player for player in players if player.datagrams}
    print("watching", file=sys.stderr, flush=True)
    next_keep_alive = time.monotonic() + 20
    while time.monotonic() < end:
        open_sockets = [c for c, p in by_socket.items() if not p.closed]
        for connection in select.select(open_sockets + list(by_datagrams), [], [], 0.2)[0]:
            if connection in by_datagrams:
                by_datagrams[connection].receive_datagrams()
            else:
                by_socket[connection].receive()
        if time.monotonic() >= next_keep_alive:
            next_keep_alive += 20
            for player in players:
                player.keep_alive()
    now = time.monotonic()
    for thread in threads:
        thread.join()
    print(json.dumps({
        "frames": [player.frames for player in players], "packetsLost": sum(player.lost for player in players),
        "closed": sum(player.closed for player in players),
        "frameRates": [round(player.frames / (now - player.begin), 2) for player in players],
        "hls": hls,
    }))


if __name__ == "__main__":
    main()
