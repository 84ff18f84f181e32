#!/usr/bin/env python3
"""Interrupts playback on a stream's page in Chromium in ten ways, and prints as JSON how long each recovery took, in seconds.

usage: page_survive.py PROGRAM     PROGRAM is the path of vidicon, which is started, ended and started again
       page_survive.py URL         without what needs that
"""
import json
import signal
import subprocess
import sys
import time

from browser import open_browser

PLAYS = """
const v = document.querySelector("video"), said = (id) => document.getElementById(id).textContent;
return !v.paused && v.readyState >= 3 && said("live") === "Live" && parseFloat(said("latency")) < 2;
"""
# Damages one media part.
DAMAGE = """
const real = window.fetch;
let isDone = false;
window.fetch = async (url, options) => {
  const response = await real(url, options);
  if (isDone || !/\\.m4s/.test(url)) return response;
  isDone = true;
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (let index = 8; index < bytes.length; index += 1) bytes[index] = 255 - bytes[index];
  return new Response(bytes, { status: 200 });
};
return true;
"""
# Answers one media part with 404.
MISSING = """
const real = window.fetch;
let isDone = false;
window.fetch = (url, options) => {
  if (isDone || !/\\.m4s/.test(url)) return real(url, options);
  isDone = true;
  return Promise.resolve(new Response("", { status: 404 }));
};
return true;
"""
POSITION = "return document.querySelector('video').currentTime;"
KEY = """
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true, cancelable: true }));
return true;
"""


def recovers(browser, seconds=20):
    """seconds until the page plays live again, and keeps playing"""
    begin = time.monotonic()
    browser.until(PLAYS, seconds=seconds)
    took = time.monotonic() - begin
    before = browser.run(POSITION)
    time.sleep(1)
    after = browser.run(POSITION)
    if after - before < 0.5:
        raise SystemExit(f"it says that it plays, but stands at {after}")
    return round(took, 2)


def network(browser, offline):
    browser.devtools("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)


class Camera:
    """the program, with a stream "cam" """

    def __init__(self, program, port=0):
        self.process = subprocess.Popen(
            # By WebRTC nothing is buffered.
            [program, "serve", "--json", "--no-discovery", "--rtsp-port", "0", "--http-port", str(port), "--webrtc", "off",
             "--name", "cam", "--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sys.stderr)
        self.port = json.loads(self.process.stdout.readline())["httpPort"]
        self.url = f"http://127.0.0.1:{self.port}/cam"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def restart(browser, camera, program):
    """Restarts the server with another stream of the same name."""
    camera.stop()
    browser.until("return document.getElementById('message').textContent !== '';", seconds=30)
    time.sleep(3)
    again = Camera(program, camera.port)
    try:
        return recovers(browser, seconds=30)
    finally:
        again.stop()


def gesture(url):
    """A browser that blocks autoplay with audio shows a button that unmutes."""
    with open_browser("chromium", gesture_for_audio=True) as browser:
        browser.go(url)
        recovers(browser)
        if not browser.run("return document.querySelector('video').muted && !document.getElementById('unmute').hidden;"):
            raise SystemExit("it plays without audio, and shows no button to turn it on")
        browser.press("#unmute")
        browser.until("return !document.querySelector('video').muted && document.getElementById('unmute').hidden;")
        return recovers(browser)


def keys(browser, took):
    browser.run(KEY, " ")
    browser.until("return document.querySelector('video').paused && document.getElementById('live').textContent === 'Paused';")
    time.sleep(2)
    browser.run(KEY, " ")
    took["pause"] = recovers(browser)

    browser.run(KEY, "m")
    browser.until("return document.querySelector('video').muted && document.getElementById('mute').ariaLabel === 'Unmute';")
    browser.run(KEY, "m")
    browser.until("return !document.querySelector('video').muted;")


def faults(browser, took):
    network(browser, True)
    browser.until("return document.getElementById('message').textContent !== '';", seconds=30)
    network(browser, False)
    took["network"] = recovers(browser)

    for name, script in (("damage", DAMAGE), ("missing", MISSING)):
        browser.run(script)
        time.sleep(2)
        took[name] = recovers(browser)

    browser.run("document.querySelector('video').currentTime -= 30; return true;")
    took["seek"] = recovers(browser)


def hidden(browser):
    """Brings another tab to the front, for longer than a muted page keeps playing."""
    browser.run(KEY, "m")
    here = browser.call("GET", browser.session + "/window")
    other = browser.call("POST", browser.session + "/window/new", {"type": "tab"})["handle"]
    browser.call("POST", browser.session + "/window", {"handle": other})
    time.sleep(11)
    browser.call("DELETE", browser.session + "/window")
    browser.call("POST", browser.session + "/window", {"handle": here})
    return recovers(browser)


def main():
    camera = None if sys.argv[1].startswith("http:") else Camera(sys.argv[1])
    url = camera.url if camera else sys.argv[1]
    took = {}
    try:
        took["gesture"] = gesture(url)
        with open_browser("chromium") as browser:
            browser.devtools("Network.enable")
            browser.go(url)
            took["start"] = recovers(browser)
            keys(browser, took)
            faults(browser, took)
            took["hidden"] = hidden(browser)
            took["bufferedSeconds"] = browser.run(
                "const b = document.querySelector('video').buffered; return b.end(b.length - 1) - b.start(0);")
            if camera:
                took["restart"] = restart(browser, camera, sys.argv[1])
    finally:
        if camera:
            camera.stop()
    print(json.dumps(took))


main()
