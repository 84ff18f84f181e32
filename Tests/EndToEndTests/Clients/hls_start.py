#!/usr/bin/env python3
"""Asks for the multivariant playlist, plays a rendition for a while over one connection, and asks again.

usage: hls_start.py HOST HTTP_PORT HTTPS_PORT RTSP_PORT NAME SECONDS

Prints as JSON the addresses in the playlist before and after, and the throughput of the segments in bits per second.
"""
import http.client
import json
import sys
import time


def main():
    host, port, name, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[5], float(sys.argv[6])
    connection = http.client.HTTPConnection(host, port, timeout=30)

    def get(path):
        connection.request("GET", f"/{name}/{path}", headers={"User-Agent": "hls-start"})
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, (path, response.status, body[:200])
        return body

    def addresses(text):
        return [line for line in text.decode().splitlines() if line and not line.startswith("#")]

    before = addresses(get("index.m3u8"))
    end, seen, size, spent = time.monotonic() + seconds, set(), 0, 0.0
    while time.monotonic() < end:
        for segment in addresses(get("main/playlist.m3u8"))[-2:]:
            if segment in seen:
                continue
            seen.add(segment)
            start = time.monotonic()
            size += len(get(f"main/{segment}"))
            spent += time.monotonic() - start
        time.sleep(0.2)
    print(json.dumps({
        "before": before, "after": addresses(get("index.m3u8")), "segments": len(seen), "throughput": size * 8 / max(spent, 1e-6),
    }))


if __name__ == "__main__":
    main()
