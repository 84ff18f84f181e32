#!/usr/bin/env python3
"""Connects to ports at a constant rate, whatever becomes of earlier connections, each time with one request: connections.py --http PORT
--rtsp PORT --until FILE --down FILE --minimum 1000

Ends once FILE of --until exists and the minimum is reached. Prints as JSON how many connections were tried, refused, answered, and closed
without an answer; and how many of them began while FILE of --down existed, as it does between two runs of service_manager.py, and how
many of those were answered.
"""
import argparse
import asyncio
import collections
import itertools
import json
import os

REQUESTS = {
    "http": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "rtsp": b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
}
# Of open connections; below the usual limit of open files.
MAXIMUM = 400


async def connect(port, request):
    """Returns what became of one connection."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return "refused"
    try:
        writer.write(request)
        return "answered" if await asyncio.wait_for(reader.read(4096), 300) else "unanswered"
    except (ConnectionResetError, BrokenPipeError):
        return "unanswered"
    except asyncio.TimeoutError:
        return "timedOut"
    finally:
        writer.close()


async def run(options):
    counts = collections.Counter(refused=0, answered=0, unanswered=0, timedOut=0)
    between = collections.Counter()
    places = asyncio.Semaphore(MAXIMUM)

    async def attempt(protocol):
        # The run before has ended, and the next one is not ready.
        is_between = os.path.exists(options.down)
        outcome = await connect(getattr(options, protocol), REQUESTS[protocol])
        places.release()
        counts[outcome] += 1
        if is_between:
            between[outcome] += 1

    tasks = []
    for protocol in itertools.cycle(REQUESTS):
        if os.path.exists(options.until) and len(tasks) >= options.minimum:
            break
        await places.acquire()
        tasks.append(asyncio.create_task(attempt(protocol)))
        await asyncio.sleep(options.interval)
    await asyncio.gather(*tasks)
    return dict(counts, tried=len(tasks), between=sum(between.values()), answeredBetween=between["answered"])


def main():
    parser = argparse.ArgumentParser()
    for protocol in REQUESTS:
        parser.add_argument(f"--{protocol}", type=int, required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--down", required=True)
    parser.add_argument("--minimum", type=int, default=1000)
    parser.add_argument("--interval", type=float, default=0.01)
    print(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
