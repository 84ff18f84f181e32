#!/usr/bin/env python3
"""Watches the stream "live" over RTSP with TCP as many viewers at once; prints as JSON what they got.

usage: many_viewers.py SERVER RTSP VIEWERS SECONDS

Prints the frames of each viewer, the packets that all of them lost, how many were closed, and of all viewers the maximum step between
the RTP timestamps of two frames, and the maximum time between the arrivals of two, in milliseconds. Says "watching" on standard error
when all of them have had a frame.
"""
import concurrent.futures
import json
import selectors
import sys
import time

from ordinary_viewers import Player
from visitor import Visitor

server, rtsp, viewers, seconds = sys.argv[1], *map(int, sys.argv[2:])
visitor = Visitor(server, 0, 0, rtsp)
selector = selectors.DefaultSelector()
# At once: the response to PLAY waits for a keyframe.
with concurrent.futures.ThreadPoolExecutor(viewers) as pool:
    players = list(pool.map(lambda _: Player(visitor, over_udp=False, query=""), range(viewers)))
for player in players:
    selector.register(player.connection, selectors.EVENT_READ, player)
end, arrivals, wait = None, {}, 0
while end is None or time.monotonic() < end:
    for key, _ in selector.select(0.2):
        player, before = key.data, key.data.frames
        player.receive()
        if player.closed:
            selector.unregister(player.connection)
        if player.frames > before:
            now = time.monotonic()
            # From the start on, which is a burst.
            wait = max(wait, now - arrivals.get(player, now)) if end else 0
            arrivals[player] = now
    if end is None and all(player.frames or player.closed for player in players):
        end = time.monotonic() + seconds
        print("watching", file=sys.stderr, flush=True)
print(json.dumps({
    "frames": [player.frames for player in players], "packetsLost": sum(player.lost for player in players),
    "closed": sum(player.closed for player in players), "maximumStep": max(player.step for player in players) / 90,
    "maximumWait": wait * 1000,
}))
