#!/usr/bin/env python3
"""Reads the same video from two RTSP servers, and prints how much later frames arrive from the second one, as JSON.

usage: relay_delay.py FIRST SECOND FRAMES     FIRST and SECOND are ports of this machine, on which the stream "live" is

Frames are the same where the last packets of their access units are, which they are when the second server passes through
what the first one has encoded.
"""
import hashlib
import json
import socket
import struct
import sys
import threading
import time


class Reader:
    """Arrival times of access units, by the hash of their last packet, over RTSP with interleaved RTP."""

    def __init__(self, port):
        self.arrivals = {}
        self.count = 0
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.file = self.socket.makefile("rb")
        url = f"rtsp://127.0.0.1:{port}/live"
        head, body = self.ask("DESCRIBE", url, "Accept: application/sdp")
        base = head.get("content-base", url).rstrip("/")
        video = body.decode().split("m=video", 1)[1].split("\r\nm=", 1)[0]
        control = video.split("a=control:", 1)[1].split("\r\n", 1)[0]
        track = control if control.startswith("rtsp://") else f"{base}/{control}"
        head, _ = self.ask("SETUP", track, "Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
        self.ask("PLAY", base, "Session: " + head["session"].split(";")[0])
        threading.Thread(target=self.read, daemon=True).start()

    def ask(self, method, url, field):
        self.count += 1
        self.socket.sendall(f"{method} {url} RTSP/1.0\r\nCSeq: {self.count}\r\n{field}\r\n\r\n".encode())
        if b" 200 " not in self.file.readline():
            raise SystemExit(f"{method} was refused")
        head = {}
        while line := self.file.readline().strip().decode():
            name, value = line.split(":", 1)
            head[name.lower()] = value.strip()
        return head, self.file.read(int(head.get("content-length", 0)))

    def read(self):
        while self.file.read(1) == b"$":
            channel, length = struct.unpack("!BH", self.file.read(3))
            packet = self.file.read(length)
            if channel == 0 and packet[1] & 0x80:
                self.arrivals.setdefault(hashlib.sha256(packet[12:]).digest(), time.monotonic())


def main():
    first, second = Reader(int(sys.argv[1])), Reader(int(sys.argv[2]))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        delays = sorted(second.arrivals[key] - time for key, time in list(first.arrivals.items()) if key in second.arrivals)
        if len(delays) >= int(sys.argv[3]):
            print(json.dumps({"frames": len(delays), "median": delays[len(delays) // 2], "most": delays[-1]}))
            return
        time.sleep(0.2)
    raise SystemExit(f"{len(delays)} frames came from both, of {len(first.arrivals)} and {len(second.arrivals)}")


main()
