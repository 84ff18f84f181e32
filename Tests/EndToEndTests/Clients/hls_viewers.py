#!/usr/bin/env python3
"""Simulates many HLS viewers, each with a persistent connection: hls_viewers.py ts|ll URL --viewers N --seconds S

"ts" requests a media playlist once per target duration and each new segment. "ll" requests the low-latency playlist with
blocking reloads, and each part before it exists, as soon as the playlist hints at it. Prints the totals as JSON:
{"viewers", "playlists", "media", "bytes", "failures": [...], "gaps", "hints", "delays": {"p50", "max"}}
"""
import argparse
import asyncio
import json
import re
import time
import urllib.parse
import zlib

# Accept-Encoding of ffmpeg, GStreamer, Safari and Chromium.
CODINGS = [None, "identity", "gzip, deflate", "gzip, deflate, br", "gzip, deflate, br, zstd"]


class Refused(Exception):
    pass


class Connection:
    """A minimal HTTP/1.1 client with a persistent connection."""

    def __init__(self, url, codings):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port or 80
        self.fields = f"Host: {self.host}:{self.port}\r\n" + (f"Accept-Encoding: {codings}\r\n" if codings else "")
        self.reader = self.writer = None

    async def get(self, path, again=True):
        try:
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=1 << 22)
            self.writer.write(f"GET {path} HTTP/1.1\r\n{self.fields}\r\n".encode())
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            if again:  # The server may have closed the idle connection.
                return await self.get(path, again=False)
            raise
        status = int(head.split(" ", 2)[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])}
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(await self.reader.readline(), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readline()
        else:
            body = await self.reader.readexactly(int(headers["content-length"]))
        if headers.get("content-encoding") == "gzip":
            body = zlib.decompress(body, 31)
        if headers.get("connection") == "close":
            self.close()
        if status != 200:
            raise Refused(f"{path}: {status}")
        return body

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


class Viewer:
    def __init__(self, url, end, totals, codings):
        self.connection = Connection(url, codings)
        # HTTP/1.1 answers in order: a request that waits for its part needs a connection of its own.
        self.ahead = Connection(url, codings)
        self.hinted = None
        self.path = urllib.parse.urlsplit(url).path
        self.end = end
        self.totals = totals

    def absolute(self, name):
        return urllib.parse.urljoin(self.path, name)

    async def fetch(self, name):
        body = await self.connection.get(self.absolute(name))
        self.totals["media"] += 1
        self.totals["bytes"] += len(body)

    async def playlist(self, path):
        text = (await self.connection.get(path)).decode()
        self.totals["playlists"] += 1
        return text

    async def watch(self, mode):
        try:
            await (self.watch_low_latency() if mode == "ll" else self.watch_segments())
        except (Refused, OSError, asyncio.IncompleteReadError, ValueError, KeyError) as error:
            if len(self.totals["failures"]) < 20:
                self.totals["failures"].append(f"{type(error).__name__}: {error}")
        finally:
            if self.hinted is not None:
                self.hinted[1].cancel()
            self.connection.close()
            self.ahead.close()

    async def watch_segments(self):
        last = None
        while time.monotonic() < self.end:
            begin = time.monotonic()
            text = await self.playlist(self.path)
            first = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)[1])
            target = int(re.search(r"#EXT-X-TARGETDURATION:(\d+)", text)[1])
            names = [line for line in text.splitlines() if line and not line.startswith("#")]
            newest = first + len(names) - 1
            if last is None:
                last = max(first, newest - 2) - 1
            if first > last + 1:
                self.totals["gaps"] += first - last - 1
                last = first - 1
            changed = newest > last
            for number in range(last + 1, newest + 1):
                await self.fetch(names[number - first])
            last = max(last, newest)
            await asyncio.sleep(max(0, begin + (target if changed else target / 2) - time.monotonic()))

    async def watch_low_latency(self):
        text = await self.playlist(self.path)
        if "#EXT-X-STREAM-INF" in text:
            lines = text.splitlines()
            at = next(index for index, line in enumerate(lines) if line.startswith("#EXT-X-STREAM-INF"))
            self.path = self.absolute(next(line for line in lines[at + 1:] if line and not line.startswith("#")))
            text = await self.playlist(self.path)
        await self.fetch(re.search(r'#EXT-X-MAP:URI="([^"]+)"', text)[1])
        position = None
        while time.monotonic() < self.end:
            parts = self.parts(text)
            if position is None:
                position = parts[-1][0] if parts else None
                parts = parts[-1:]
            else:
                parts = [part for part in parts if part[0] > position]
                if parts and not (parts[0][0] == (position[0], position[1] + 1) or
                                  (parts[0][0][0] == position[0] + 1 and parts[0][0][1] == 0)):
                    self.totals["gaps"] += 1
            for place, name, _ in parts:
                if self.hinted is not None and self.hinted[0] == name:
                    await self.hinted[1]
                    self.hinted = None
                else:
                    await self.fetch(name)
                position = place
            await self.preload(text)
            msn, part = self.next_part(text)
            begin = time.monotonic()
            text = await self.playlist(f"{self.path}?_HLS_msn={msn}&_HLS_part={part}")
            self.totals["delays"].append(time.monotonic() - begin)

    async def preload(self, text):
        """Requests the part that the playlist hints at, while the next playlist is awaited."""
        hint = re.search(r'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="([^"]+)"', text)
        if hint is None or (self.hinted is not None and self.hinted[0] == hint[1]):
            return
        if self.hinted is not None:
            await self.hinted[1]

        async def get(name):
            body = await self.ahead.get(self.absolute(name))
            self.totals["media"] += 1
            self.totals["hints"] += 1
            self.totals["bytes"] += len(body)

        self.hinted = (hint[1], asyncio.create_task(get(hint[1])))

    @staticmethod
    def parts(text):
        """The parts of a playlist: ((sequence number of the segment, index), name, duration)."""
        msn = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)[1])
        index = 0
        found = []
        for line in text.splitlines():
            if line.startswith("#EXT-X-PART:"):
                name = re.search(r'URI="([^"]+)"', line)[1]
                found.append(((msn, index), name, float(re.search(r"DURATION=([\d.]+)", line)[1])))
                index += 1
            elif line and not line.startswith("#"):
                msn, index = msn + 1, 0
        return found

    @classmethod
    def next_part(cls, text):
        msn = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)[1])
        index = 0
        for line in text.splitlines():
            if line.startswith("#EXT-X-PART:"):
                index += 1
            elif line and not line.startswith("#"):
                msn, index = msn + 1, 0
        return msn, index


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["ts", "ll"])
    parser.add_argument("url")
    parser.add_argument("--viewers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--ramp", type=float, default=2, help="seconds over which they come")
    settings = parser.parse_args()
    totals = {"viewers": settings.viewers, "playlists": 0, "media": 0, "bytes": 0, "failures": [], "gaps": 0, "hints": 0, "delays": []}
    end = time.monotonic() + settings.ramp + settings.seconds

    async def one(index):
        await asyncio.sleep(settings.ramp * index / settings.viewers)
        await Viewer(settings.url, end, totals, CODINGS[index % len(CODINGS)]).watch(settings.mode)

    await asyncio.gather(*(one(index) for index in range(settings.viewers)))
    delays = sorted(totals["delays"])
    totals["delays"] = {"p50": delays[len(delays) // 2], "max": delays[-1]} if delays else None
    print(json.dumps(totals))


asyncio.run(main())
