#!/usr/bin/env python3
"""Lets viewers of all kinds join and leave at random, and compares what the program holds before and after.

usage: churn.py PID RTSP_PORT HTTP_PORT NAME SECONDS SEED

The first round warms the program up: memory grows for some 2000 joins, and no more in the next 3000. Prints as JSON the threads, open
files and resident kilobytes of the process before and after the second round, which are read once all that lingers has ended, and how
often viewers joined.
"""
import asyncio
import json
import os
import random
import socket
import struct
import sys
import time


def holdings(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return {"threads": len(os.listdir(f"/proc/{pid}/task")), "files": len(os.listdir(f"/proc/{pid}/fd")), "kilobytes": resident}


def leave(writer, chance):
    """Closes a connection, now and then with a reset."""
    if chance.random() < 0.3:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort() if chance.random() < 0.5 else writer.close()


async def reply_to(reader, writer, request):
    writer.write(request.encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.decode().split("\r\n") if line.lower().startswith("content-length:")), 0)
    await reader.readexactly(length)
    return head.decode()


async def rtsp_viewer(port, path, chance):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        url = f"rtsp://127.0.0.1:{port}/{path}"
        await reply_to(reader, writer, f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
        if chance.random() < 0.1:
            return
        session = ""
        for track in range(chance.choice((1, 2))):
            head = await reply_to(
                reader, writer, f"SETUP {url}/trackID={track} RTSP/1.0\r\nCSeq: {track + 2}\r\n{session}"
                f"Transport: RTP/AVP/TCP;unicast;interleaved={2 * track}-{2 * track + 1}\r\n\r\n")
            line = next(line for line in head.split("\r\n") if line.lower().startswith("session:"))
            session = line.split(";")[0] + "\r\n"
        writer.write(f"PLAY {url} RTSP/1.0\r\nCSeq: 5\r\n{session}\r\n".encode())
        end = time.monotonic() + chance.expovariate(1)
        # Some stop reading, as a program does that hangs.
        while time.monotonic() < end and chance.random() > 0.02:
            await asyncio.wait_for(reader.read(1 << 16), 5)
        if chance.random() < 0.5:
            writer.write(f"TEARDOWN {url} RTSP/1.0\r\nCSeq: 6\r\n{session}\r\n".encode())
    finally:
        leave(writer, chance)


async def hls_viewer(port, name, chance):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for _ in range(chance.randrange(1, 5)):
            path = chance.choice(("index.m3u8", "playlist.m3u8", "live.m3u8", "main/live.m3u8", "low/live.m3u8", "snapshot.jpg", "mjpeg"))
            writer.write(f"GET /{name}/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            await asyncio.wait_for(reader.read(1 << 16), 8)
    finally:
        leave(writer, chance)


async def churn(rtsp, http, name, seconds, chance):
    joins, viewers = 0, set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if len(viewers) < 150:
            kind = chance.random()
            viewer = (rtsp_viewer(rtsp, name, chance) if kind < 0.5 else rtsp_viewer(rtsp, f"{name}/low", chance) if kind < 0.7
                      else hls_viewer(http, name, chance))
            task = asyncio.create_task(viewer)
            viewers.add(task)
            task.add_done_callback(viewers.discard)
            joins += 1
        await asyncio.sleep(chance.expovariate(60))
    for task in list(viewers):
        task.cancel()
    await asyncio.gather(*viewers, return_exceptions=True)
    return joins


def settled(pid, seconds, wanted=None):
    """Holdings of the process once its threads and files are as wanted and its memory is steady for 2 s, or time is up."""
    end = time.monotonic() + seconds
    last, since = holdings(pid), time.monotonic()
    while True:
        time.sleep(0.25)
        now = holdings(pid)
        if abs(now["kilobytes"] - last["kilobytes"]) > 500:
            last, since = now, time.monotonic()
        is_wanted = not wanted or now["threads"] <= wanted["threads"] and now["files"] <= wanted["files"]
        if time.monotonic() > end or is_wanted and time.monotonic() > since + 2:
            return now


def main():
    pid, rtsp, http, name, seconds, chance = (int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4],
                                              float(sys.argv[5]), random.Random(int(sys.argv[6])))
    first = holdings(pid)
    asyncio.run(churn(rtsp, http, name, 1.5 * seconds, chance))
    # Encoders of renditions stay open for ten seconds, HLS waits for further requests.
    before = settled(pid, 14, first)
    joins = asyncio.run(churn(rtsp, http, name, seconds, chance))
    print(json.dumps({"before": before, "after": settled(pid, 14, before), "joins": joins}))


if __name__ == "__main__":
    main()
