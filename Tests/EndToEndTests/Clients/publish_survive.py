#!/usr/bin/env python3
"""Sends Chromium's camera from the page over a link of its own (bad_link.py) whose path changes and fails, restarts the program
meanwhile, and prints as JSON what became of it.

usage: publish_survive.py PROGRAM [--seed N]

    rebound    the router gives the phone other ports
    moved      the phone has another address, as after a change from Wi-Fi to the mobile network
    failed     nothing arrives for 10 s
    slept      the page is frozen for 30 s, in which nothing arrives, as where the phone is locked
    killed     the program is killed, and started again on its ports

Of each: seconds until the program has received another 30 frames, and the sessions that were opened since the start of the program.
"""
import argparse
import json
import signal
import sys
import tempfile
import time

from bad_link import SERVER_ADDRESS, Link, enter_own_network, kill
from browser import FACTOR, RECORD_METHODS, open_browser
from publisher_program import TOKEN, Server


def be_phone(url):
    """Publishes from the page until standard input ends, and prints then which states it has shown, and the methods of requests. Each line
    of it is a state of the page's life, "frozen" or "active", and is answered when it has that."""
    with open_browser("chromium", webrtc=True, camera=True, names=[SERVER_ADDRESS]) as browser:
        browser.set_screen(390, 844, phone=True)
        browser.go(url)
        browser.until("return document.getElementById('start').onclick !== null")
        browser.run(RECORD_METHODS + """
window.states = [];
const state = document.getElementById("state");
new MutationObserver(() => states.push(state.dataset.state)).observe(state, { attributes: true });
""")
        browser.press("#start")
        browser.until("return document.getElementById('state').dataset.state === 'live'")
        print("live", flush=True)
        for line in sys.stdin:
            browser.devtools("Page.setWebLifecycleState", state=line.strip())
            print(line.strip(), flush=True)
        print(json.dumps(browser.run("return { states, methods, problem: document.getElementById('problem').textContent }")))


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
        phone = link.start(__file__, "--phone", f"https://{SERVER_ADDRESS}:{server.https}/live/publish#{TOKEN}")

        def let_page_be(state):
            phone.stdin.write(state + "\n")
            phone.stdin.flush()
            if phone.stdout.readline().strip() != state:
                raise SystemExit(f"the page is not {state}")

        try:
            if phone.stdout.readline().strip() != "live":
                raise SystemExit("the page does not publish")
            link.set(delay=0.01)
            seen = {"begin": server.frames_follow(time.time())}
            seen["rebound"] = server.frames_follow(link.rebind())
            seen["moved"] = server.frames_follow(link.move())
            link.set(outage=True)
            time.sleep(10)
            seen["failed"] = server.frames_follow(link.set(outage=False))
            let_page_be("frozen")
            link.set(outage=True)
            time.sleep(30)
            link.set(outage=False)
            let_page_be("active")
            seen["slept"] = server.frames_follow(time.time())
            server.stop(signal.SIGKILL)
            server.start()
            seen["killed"] = server.frames_follow(time.time())
            phone.stdin.close()
            seen |= json.loads(phone.stdout.readline() or "{}")
            phone.wait(20 * FACTOR)
            seen["exit"] = server.stop(signal.SIGINT)
            print(json.dumps(seen))
        finally:
            kill(phone, server.process)


if __name__ == "__main__":
    main()
