#!/usr/bin/env python3
"""Connects to ports again and again, each time with one request: connections.py --http PORT --rtsp PORT --until FILE --minimum 1000

Ends once FILE exists and the minimum is reached. Prints as JSON how many connections were tried, refused, answered, and closed without an
answer.
"""
import argparse
import collections
import json
import os
import socket
import threading
import time

REQUESTS = {
    "http": b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "rtsp": b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
}


def connect(port, request):
    """Returns what became of one connection."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
            connection.sendall(request)
            return "answered" if connection.recv(4096) else "unanswered"
    except ConnectionRefusedError:
        return "refused"
    except (ConnectionResetError, BrokenPipeError):
        return "unanswered"
    except TimeoutError:
        return "timedOut"


def main():
    parser = argparse.ArgumentParser()
    for protocol in REQUESTS:
        parser.add_argument(f"--{protocol}", type=int, required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--minimum", type=int, default=1000)
    parser.add_argument("--interval", type=float, default=0.2)
    options = parser.parse_args()
    counts, lock = collections.Counter(refused=0, answered=0, unanswered=0, timedOut=0), threading.Lock()

    def repeat(protocol):
        while not os.path.exists(options.until) or sum(counts.values()) < options.minimum:
            outcome = connect(getattr(options, protocol), REQUESTS[protocol])
            with lock:
                counts[outcome] += 1
            time.sleep(options.interval)

    # Each thread waits while the server starts again, with one connection.
    threads = [threading.Thread(target=repeat, args=(protocol,)) for protocol in REQUESTS for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(dict(counts, tried=sum(counts.values()))))


if __name__ == "__main__":
    main()
