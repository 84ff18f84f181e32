#!/usr/bin/env python3
"""Sends video and audio from a bare page in Chromium over a link of its own (bad_link.py) that loses packets, and prints figures as JSON.

usage: publish_loss.py PROGRAM [--seconds 30] [--seed N]

50 ms of round trip, 2% of packets are lost in both directions. Shares are those of the frames that the browser has encoded in the
same time: of those that the program has received, and of those that it has encoded for viewers.
"""
import argparse
import http.server
import json
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from urllib.parse import urlencode

from bad_link import SERVER_ADDRESS, Link, enter_own_network, kill
from browser import FACTOR, open_browser
from publisher_program import TOKEN, Server
from whip_publish import MEASURE, Page


def be_browser(url):
    """Publishes until standard input ends; each line of it is answered with the number of frames that were encoded."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open_browser("chromium", webrtc=True, camera=True, names=[SERVER_ADDRESS]) as browser:
        browser.go(f"http://127.0.0.1:{server.server_port}/?" + urlencode({"url": url, "bearer": TOKEN, "strip": "1"}))
        browser.until("return window.done")
        browser.until("return window.peer.connectionState === 'connected'")
        for _ in sys.stdin:
            print(browser.run_async(MEASURE).get("encoded", 0), flush=True)


class Counts:
    """Frames at the browser, received by the program, and encoded by it, with the time."""

    def __init__(self, server, browser):
        self.time = time.monotonic()
        browser.stdin.write("look\n")
        browser.stdin.flush()
        self.sent = int(browser.stdout.readline())
        self.received = server.publisher()["framesReceived"]
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http}/metrics", timeout=10 * FACTOR) as response:
            lines = response.read().decode().splitlines()
        self.encoded = sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("vidicon_frames_encoded_total"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    if options.browser:
        return be_browser(options.program)
    enter_own_network()
    with tempfile.TemporaryDirectory(prefix="vidicon-loss.") as folder, Link(options.seed) as link:
        server = Server(options.program, folder)
        server.command += ["--cors", "*"]
        server.start()
        browser = link.start(__file__, "--browser", f"http://{SERVER_ADDRESS}:{server.http}/live/whip")
        try:
            server.frames_follow(time.time())
            link.set(delay=0.025)
            # The bitrate of the browser rises meanwhile.
            time.sleep(5)
            before = link.counts()["up"]["lost"]
            link.set(loss=0.02)
            first = Counts(server, browser)
            time.sleep(options.seconds)
            last = Counts(server, browser)
            lost = link.counts()["up"]["lost"] - before
            browser.stdin.close()
            browser.wait(20 * FACTOR)
            if server.stop(signal.SIGINT):
                raise SystemExit("the program has failed")
            sent, received, encoded = last.sent - first.sent, last.received - first.received, last.encoded - first.encoded
            seconds = last.time - first.time
            print(json.dumps({
                "frameRate": received / seconds, "encodedRate": encoded / seconds,
                "receivedShare": received / sent, "encodedShare": encoded / sent, "packetsLost": lost}))
        finally:
            kill(browser, server.process)


if __name__ == "__main__":
    main()
