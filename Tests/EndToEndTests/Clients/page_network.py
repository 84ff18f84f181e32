#!/usr/bin/env python3
"""Plays a stream's page by WebRTC in Chromium behind a link of its own (bad_link.py) whose path changes and fails, and in a tab that is
hidden, and prints as JSON what became of it.

usage: page_network.py PROGRAM [--seed N]

    rebound    the router gives the viewer other ports
    moved      the viewer has another address, as after a change from Wi-Fi to the mobile network
    hidden     another tab is in front for 11 s
    failed     nothing arrives for 10 s
    frozen     another tab is in front for 3 s, and the browser freezes the page meanwhile, which pauses its video
    slept      the same for 30 s, in which nothing arrives, as where the machine sleeps

Of each: seconds until 30 further frames are shown, and how the page plays.
"""
import argparse
import json
import sys
import time

from bad_link import SERVER_ADDRESS, Link, enter_own_network, kill
from bad_network import Server
from browser import FACTOR, RECORD_METHODS, open_browser

PLAYS = """
const video = document.querySelector("video");
return video.readyState >= 2 && !video.paused && document.getElementById("way").textContent === "WebRTC, real time";
"""
FRAMES = "return document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames"
SHOWN = """
return { way: document.getElementById("way").textContent, methods: window.methods,
  frames: document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames };
"""


def frames_follow(browser, count=30):
    """Waits for further frames; a new session counts its own."""
    first, begin = browser.run(FRAMES), time.monotonic()
    deadline = begin + 60 * FACTOR
    while time.monotonic() < deadline:
        frames = browser.run(FRAMES)
        if frames < first:
            first = 0
        if frames >= first + count:
            return {"seconds": round(time.monotonic() - begin, 2)} | browser.run(SHOWN)
        time.sleep(0.1)
    raise SystemExit(f"no frames follow: {browser.run(SHOWN)}")


def open_other(browser):
    """Brings another tab to the front; returns it and this one, which stays that of commands."""
    here = browser.call("GET", browser.session + "/window")
    return browser.call("POST", browser.session + "/window/new", {"type": "tab"})["handle"], here


def close_other(browser, other, here):
    browser.call("POST", browser.session + "/window", {"handle": other})
    browser.call("DELETE", browser.session + "/window")
    browser.call("POST", browser.session + "/window", {"handle": here})


def be_viewer(url):
    """Plays; each line of standard input is "follow", "hide", "freeze" or "thaw", and is answered with what the page shows once frames
    follow, or at once where it is frozen."""
    with open_browser("chromium", webrtc=True, names=[SERVER_ADDRESS]) as browser:
        browser.go(url)
        browser.until(PLAYS)
        browser.run(RECORD_METHODS)
        print("plays", flush=True)
        for line in sys.stdin:
            if line.strip() == "freeze":
                tabs = open_other(browser)
                browser.devtools("Page.setWebLifecycleState", state="frozen")
                print("{}", flush=True)
                continue
            if line.strip() == "thaw":
                browser.devtools("Page.setWebLifecycleState", state="active")
                close_other(browser, *tabs)
            if line.strip() == "hide":
                tabs = open_other(browser)
                time.sleep(11)
                close_other(browser, *tabs)
            print(json.dumps(frames_follow(browser)), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--viewer", action="store_true")
    options = parser.parse_args()
    if options.viewer:
        return be_viewer(options.program)
    enter_own_network()
    with Link(options.seed) as link, Server(
            options.program, "--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30") as server:
        viewer = link.start(__file__, "--viewer", f"http://{SERVER_ADDRESS}:{server.port}/live")

        def ask(command):
            viewer.stdin.write(command + "\n")
            viewer.stdin.flush()
            line = viewer.stdout.readline()
            if not line:
                raise SystemExit(f"the browser has ended after {command}")
            return json.loads(line)

        try:
            if viewer.stdout.readline().strip() != "plays":
                raise SystemExit("the page does not play by WebRTC")
            link.set(delay=0.01)
            seen = {"begin": ask("follow")}
            link.rebind()
            seen["rebound"] = ask("follow")
            link.move()
            seen["moved"] = ask("follow")
            seen["hidden"] = ask("hide")
            link.set(outage=True)
            time.sleep(10)
            link.set(outage=False)
            seen["failed"] = ask("follow")
            ask("freeze")
            time.sleep(3)
            seen["frozen"] = ask("thaw")
            ask("freeze")
            link.set(outage=True)
            time.sleep(30)
            link.set(outage=False)
            seen["slept"] = ask("thaw")
            viewer.stdin.close()
            viewer.wait(20 * FACTOR)
            print(json.dumps(seen))
        finally:
            kill(viewer)


if __name__ == "__main__":
    main()
