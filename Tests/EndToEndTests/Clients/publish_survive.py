#!/usr/bin/env python3
"""Sends Chromium's camera from the page over a link of its own (bad_link.py) whose path changes and fails, restarts the program
meanwhile, and prints as JSON what became of it.

usage: publish_survive.py PROGRAM [--seed N]

    rebound    the router gives the phone other ports
    moved      the phone has another address, as after a change from Wi-Fi to the mobile network
    failed     nothing arrives for 10 s
    killed     the program is killed, and started again on its ports

Of each: seconds until the program has received another 30 frames, and the sessions that were opened since the start of the program.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from bad_link import SERVER_ADDRESS, VIEWER, VIEWER_ADDRESS, Link, enter_own_network
from browser import FACTOR, free_port, open_browser

TOKEN = "0123456789abcdef0123"
NEXT_ADDRESS = "10.78.0.3"


class Server:
    """The program on ports that it keeps."""

    def __init__(self, program, folder):
        self.http, self.https, webrtc = free_port(), free_port(), free_port()
        self.command = [
            program, "serve", "--json", "--source", f"whip:?token={TOKEN}", "--size", "640x360", "--fps", "30", "--rtsp-port", "0",
            "--http-port", str(self.http), "--https-port", str(self.https), "--webrtc-port", str(webrtc), "--no-discovery"]
        self.environment = os.environ | {"XDG_STATE_HOME": folder}

    def start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def stop(self, number):
        self.process.send_signal(number)
        return self.process.wait(20 * FACTOR)

    def publisher(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/api/streams/live", timeout=10 * FACTOR) as response:
            return json.load(response)["publisher"]

    def frames_follow(self, begin, count=30):
        """Waits for a number of further frames; returns the seconds since `begin`, and the number of sessions."""
        first = self.publisher()["framesReceived"]
        deadline = time.monotonic() + 60 * FACTOR
        while True:
            publisher = self.publisher()
            if publisher["framesReceived"] >= first + count:
                return {"seconds": round(time.time() - begin, 2), "sessions": publisher["sessionsOpened"]}
            if time.monotonic() > deadline:
                raise SystemExit(f"no frames follow: {publisher}")
            time.sleep(0.1)


def be_phone(url):
    """Publishes from the page until standard input ends, and prints then which states it has shown, and the methods of requests."""
    with open_browser("chromium", webrtc=True, camera=True, names=[SERVER_ADDRESS]) as browser:
        browser.set_screen(390, 844, phone=True)
        browser.go(url)
        browser.until("return document.getElementById('start').onclick !== null")
        browser.run("""
window.states = []; window.methods = [];
const state = document.getElementById("state"), real = window.fetch;
new MutationObserver(() => states.push(state.dataset.state)).observe(state, { attributes: true });
window.fetch = (url, options) => { if (options?.method) methods.push(options.method); return real(url, options); };
""")
        browser.press("#start")
        browser.until("return document.getElementById('state').dataset.state === 'live'")
        print("live", flush=True)
        sys.stdin.read()
        print(json.dumps(browser.run("return { states, methods, problem: document.getElementById('problem').textContent }")))


def change_address():
    """Gives the phone another address in place of its own."""
    run = lambda *command: subprocess.run(["ip", "-n", VIEWER, *command], check=True)
    run("address", "del", VIEWER_ADDRESS, "peer", SERVER_ADDRESS, "dev", "far")
    run("address", "add", NEXT_ADDRESS, "peer", SERVER_ADDRESS, "dev", "far")
    run("route", "replace", "default", "dev", "far")
    return time.time()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phone", action="store_true")
    options = parser.parse_args()
    if options.phone:
        return be_phone(options.program)
    enter_own_network()
    with tempfile.TemporaryDirectory(prefix="vidicon-survive.") as folder, Link(options.seed) as link:
        server = Server(options.program, folder)
        server.start()
        phone = subprocess.Popen(
            ["ip", "netns", "exec", VIEWER, sys.executable, os.path.abspath(__file__), "--phone",
             f"https://{SERVER_ADDRESS}:{server.https}/live/publish#{TOKEN}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if phone.stdout.readline().strip() != "live":
                raise SystemExit("the page does not publish")
            link.set(delay=0.01)
            seen = {"begin": server.frames_follow(time.time())}
            seen["rebound"] = server.frames_follow(link.rebind())
            seen["moved"] = server.frames_follow(change_address())
            link.set(outage=True)
            time.sleep(10)
            seen["failed"] = server.frames_follow(link.set(outage=False))
            server.stop(signal.SIGKILL)
            server.start()
            seen["killed"] = server.frames_follow(time.time())
            phone.stdin.close()
            seen |= json.loads(phone.stdout.readline() or "{}")
            phone.wait(20 * FACTOR)
            seen["exit"] = server.stop(signal.SIGINT)
            print(json.dumps(seen))
        finally:
            for process in (phone, server.process):
                if process.poll() is None:
                    process.kill()
                    process.wait()


if __name__ == "__main__":
    main()
