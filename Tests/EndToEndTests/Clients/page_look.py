#!/usr/bin/env python3
"""Checks the layout and accessibility of the web page in Chromium, and prints the problems as JSON.

usage: page_look.py BASE NAME FOLDER [--token TOKEN] [STATE ...]

BASE is such as http://127.0.0.1:8080, NAME a stream; screenshots are stored in FOLDER. With the token of the stream's publishers, the page
that sends a camera is checked in place of all others, and where operators find it.

Every state of the pages is checked at desktop and phone size, in light and in dark: nothing is wider than the screen,
overlaps or is cut off, text has a contrast of at least 4.5 (WCAG 2.2 §1.4.3), and controls are large enough, have an
accessible name and are visible without scrolling.
"""
import argparse
import json
import pathlib

from browser import open_browser

SCREENS = {"desk": (1280, 800, False), "phone": (390, 844, True), "small": (360, 640, True)}

# Replaces responses of the server, to simulate states that are hard to reach with the real one.
ANSWER = """
(() => {
  const real = window.fetch;
  window.fetch = async (url, options) => {
    const response = await real(url, options);
    if (new URL(url, location.href).pathname !== "%s" || !response.ok) return response;
    const answer = await response.json();
    (%s)(answer);
    return new Response(JSON.stringify(answer), { status: 200 });
  };
})();
"""
STREAMS, RECORDINGS, RECORDING = "/api/streams", "/api/recordings", "/api/streams/live/recording"
UNREACHABLE = """
(() => {
  const real = window.fetch;
  let count = 0;
  window.fetch = (url, options) => {
    const isFirst = new URL(url, location.href).pathname.startsWith("/api/streams") && count++ === 0;
    return isFirst ? real(url, options) : Promise.reject(new TypeError("no network"));
  };
})();
"""
MANY = """(answer) => {
  const [first] = answer.streams, names = ["Front door", "Workshop with a rather long name that needs two lines", "garden", "超長い名前"];
  answer.streams.push(...names.map((name, index) => ({ ...first, name, page: "/" + encodeURIComponent(name),
    slate: index === 1, viewers: { rtsp: 100 * index, hls: index } })));
}"""
FILES = """(answer) => {
  const [first] = answer.recordings;
  const names = ["2026-11-21/front-door-of-the-house-with-a-long-name_2026-11-21_23-59-59-2.mp4", "12-00-00.mp4", "超長い名前の録画.mp4"];
  answer.recordings.push(...names.map((name, index) => ({ ...first, name, file: "/recordings/live/" + index, bytes: 10 ** (3 + 4 * index), finished: true })));
}"""

DEVICES, STREAM = "/api/devices", "/api/streams/live"
MANY_DEVICES = """(answer) => {
  const device = (kind, specification, name, problem) => ({ kind, specification, name, problem, formats: [], controls: [] });
  answer.devices = [device("camera", "v4l2:/dev/video0", "Integrated Camera: a rather long name that a driver gives"),
    device("camera", "v4l2:/dev/video2", "HD Pro Webcam", "it is used by obs (1234); end it there"),
    device("screen", "screen::0", "Screen :0"), device("window", "screen::0?window=1", "Terminal"),
    device("microphone", "mic:hw:1", "Webcam Mono")];
  answer.restricted = true;
}"""
CONTROLS = """(answer) => {
  const control = (name, label, kind, value, more) => ({ name, label, kind, value, minimum: 0, maximum: 255, step: 1, defaultValue: 0,
    readOnly: false, inactive: false, ...more });
  answer.controlList = [control("brightness", "Brightness", "integer", 128), control("focus-absolute", "Focus, Absolute", "integer", 30, { inactive: true }),
    control("focus-automatic-continuous", "Focus, Automatic Continuous", "boolean", 1),
    control("power-line-frequency", "Power Line Frequency", "menu", 2, { menu: [{ value: 1, label: "50 Hz" }, { value: 2, label: "60 Hz" }] })];
}"""

FOUND = """(answer) => {
  const finding = (part, verdict, subject, meaning, more) => ({ part, verdict, subject, meaning, ...more });
  Object.assign(answer, { age: 7, findings: [
    finding("recordings", "fault", "recordings of live", "the folder /srv/recordings/of-the-front-door-with-a-long-name does not exist",
      { command: "sudo mkdir -p /srv/recordings/of-the-front-door-with-a-long-name && sudo chown $USER /srv/recordings/of-the-front-door-with-a-long-name" }),
    finding("discovery", "warning", "mDNS", "avahi-daemon does not run", { command: "sudo systemctl enable --now avahi-daemon" }),
    finding("encoder", "warning", "encoder of live", "1.2 times real time", { advice: "give a smaller --size or --fps, such as --size 960x540 --fps 15" }),
    finding("clock", "ok", "clock", "synchronized"), finding("ports", "ok", "HTTP port 8080", "this program serves on it")] });
}"""

# Checks the page; returns the problems as sentences.
CHECK = r"""
const wrong = [];
const isOnPhone = arguments[0], needed = arguments[1];
const describe = (element) => element.id ? "#" + element.id
  : element.tagName.toLowerCase() + (element.className && typeof element.className === "string" ? "." + element.className.split(" ").join(".") : "")
    + (element.textContent.trim() ? ` "${element.textContent.trim().slice(0, 30)}"` : "");
const dialog = document.querySelector("dialog[open]");
const everything = [...(dialog ?? document.body).querySelectorAll("*")];
const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })
  && element.getBoundingClientRect().width > 1 && !element.closest(".unseen, svg[hidden]");

if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth} wide, the screen ${innerWidth}`);
for (const element of everything.filter(isSeen)) {
  const box = element.getBoundingClientRect();
  if (box.left < -0.5 || box.right > innerWidth + 0.5) wrong.push(`${describe(element)} reaches beyond the screen`);
}

// Controls.
const controls = everything.filter((element) => element.matches("button, a[href], input, select, summary, [role=button]") && isSeen(element));
for (const control of controls) {
  const box = control.getBoundingClientRect();
  const name = control.getAttribute("aria-label") || control.textContent.trim();
  if (!name) wrong.push(`${describe(control)} has no name`);
  const minimum = control.matches(".badge") ? 24 : isOnPhone ? 44 : 40;
  if (Math.min(box.width, box.height) < minimum - 0.5) {
    wrong.push(`${describe(control)} is ${box.width}×${box.height}, less than ${minimum}`);
  }
}
for (const selector of needed) {
  const element = document.querySelector(selector);
  if (!element || !isSeen(element)) { wrong.push(`${selector} cannot be seen`); continue; }
  const box = element.getBoundingClientRect();
  if (box.bottom > innerHeight + 0.5 || box.top < 0) wrong.push(`${selector} is only seen after scrolling`);
  const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  if (top && !element.contains(top) && !top.contains(element)) wrong.push(`${describe(top)} lies over ${selector}`);
}

// Contrast of text with its background.
const texts = everything.filter((element) => isSeen(element) && !element.closest("noscript, template")
  && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
const parse = (color) => {
  const canvas = parse.context ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const contrast = (a, b) => {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};
for (const element of texts) {
  const chain = [];
  let onFrame = false;
  for (let at = element; at; at = at.parentElement) {
    if (at.matches(".stage, .thumb")) { onFrame = true; break; }
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color[3] > 0) chain.unshift(color);
    if (color[3] === 1) break;
  }
  // A video frame can have any color.
  const grounds = onFrame ? [[0, 0, 0, 1], [255, 255, 255, 1]] : [parse(getComputedStyle(document.body).backgroundColor)];
  const worst = Math.min(...grounds.map((ground) => {
    const below = chain.reduce((sum, color) => over(color, sum), ground);
    return contrast(over(parse(getComputedStyle(element).color), below), below);
  }));
  if (worst < 4.5) wrong.push(`${describe(element)} has a contrast of ${worst.toFixed(2)}`);
  if (element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== "inline") wrong.push(`${describe(element)} is cut off`);
}

// Overlaps.
const pieces = [...new Set([...controls, ...texts])].map((element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return { element, box: controls.includes(element) ? element.getBoundingClientRect() : range.getBoundingClientRect() };
});
pieces.forEach((one, index) => pieces.slice(index + 1).forEach((other) => {
  if (one.element.contains(other.element) || other.element.contains(one.element)) return;
  const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
  const height = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
  if (width > 1 && height > 1) wrong.push(`${describe(one.element)} and ${describe(other.element)} overlap`);
}));

// Structure and names for screen readers.
if (document.querySelectorAll("h1").length !== 1) wrong.push("there is not exactly one h1");
if (!document.title) wrong.push("the page has no title");
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
for (const image of everything.filter((element) => element.tagName === "IMG")) {
  if (!image.hasAttribute("alt")) wrong.push(`${describe(image)} has no alternative text`);
}
return wrong;
"""

CARD = "return document.querySelectorAll('.card img:not([hidden])').length >= arguments[0];"
PLAYING = "const v = document.querySelector('video'); return v.readyState >= 3 && v.currentTime > 0 && document.getElementById('latency').textContent.includes(' s');"
# Keeps the controls visible during the check.
AWAKE = "document.getElementById('stage').dispatchEvent(new Event('pointermove')); return true;"

# States: path, replacement of responses, condition to wait for, its arguments, selectors of elements that must be visible.
STATES = {
    "list": ("/", None, CARD, [1], [".brand", ".card .name", ".card .badge"]),
    "list-many": ("/", ANSWER % (STREAMS, MANY), "return document.querySelectorAll('.card').length === 5;", [], [".card .name"]),
    "list-empty": ("/", ANSWER % (STREAMS, "(answer) => { answer.streams = []; }"), "return !document.getElementById('empty').hidden;", [],
                   ["#empty h2", "#empty code"]),
    "list-unreachable": ("/", UNREACHABLE, "return !document.getElementById('problem').hidden;", [], ["#problem"]),
    "player": ("/{name}", None, PLAYING, [], ["#play", "#mute", "#full", "#pip", "#snapshot", "#live", "#latency", "#fps"]),
    "player-sources": ("/{name}", ANSWER % (DEVICES, MANY_DEVICES) + ANSWER % (STREAM, CONTROLS),
                       "if (!document.querySelectorAll('.control').length) return false;"
                       "document.getElementById('source-controls').open = true;"
                       "document.getElementById('source').scrollIntoView({ block: 'start' });"
                       "return document.querySelectorAll('#source-video option').length > 5;", [], ["#source-video"]),
    "player-no-signal": ("/{name}", ANSWER % (STREAMS, "(answer) => { for (const s of answer.streams) s.slate = true; }"), PLAYING, [], ["#live"]),
    "player-images": ("/{name}?way=images", None, "return document.getElementById('image').naturalWidth > 0"
                        " && document.getElementById('live').textContent === 'Live';", [], ["#play", "#snapshot", "#full", "#live"]),
    "player-missing": ("/{name}", ANSWER % (STREAMS, "(answer) => { answer.streams = []; }"),
                       "return document.getElementById('message').textContent.includes('There is no camera');", [], ["#message"]),
    "player-unreachable": ("/{name}", UNREACHABLE, "return !document.getElementById('again').hidden;", [], ["#message", "#again"]),
    "player-recording": ("/{name}", None, "return document.getElementById('record').dataset.state === 'recording';", [],
                         ["#record-state", "#record-time", "#record-size", "#record-main", "#record-stop", ".record a"]),
    "player-not-recording": ("/{name}", ANSWER % (RECORDING, "(answer) => { answer.state = 'idle'; delete answer.file; }"),
                             "return !document.getElementById('record').hidden;", [], ["#record-state", "#record-main"]),
    "player-record-failed": ("/{name}", ANSWER % (RECORDING, "(answer) => Object.assign(answer, { state: 'failed', bytes: 1e12,"
                             " duration: 359999, drops: 1234, error: 'the disk is full; make room, or record to another disk' })"),
                             "return !document.getElementById('record-problem').hidden;", [], ["#record-problem", "#record-main"]),
    "recordings": ("/recordings/", ANSWER % (RECORDINGS, FILES), "return document.querySelectorAll('.rows li').length >= 4;", [],
                   [".brand", ".rows .name", ".rows .badge", ".rows .play", ".rows .save"]),
    "recordings-empty": ("/recordings/", ANSWER % (RECORDINGS, "(answer) => { answer.recordings = []; }"),
                         "return !document.getElementById('empty').hidden;", [], ["#empty h2", "#empty code"]),
    "recordings-play": ("/recordings/", None, "if (!document.querySelector('.play')) return false;"
                        "if (!document.getElementById('theatre').open) document.querySelector('.play').click();"
                        "return document.getElementById('film').readyState >= 3;", [], ["#theatre-name", "#film", "#theatre button"]),
    "ca": ("/ca", None, "return document.getElementById('fingerprint').textContent.length === 95;", [],
           [".brand", ".download", "#problem"]),
    "player-check": ("/{name}", ANSWER % ("/api/check", FOUND),
                     "if (document.getElementById('check').hidden) return false;"
                     "if (!window.isAsked) { window.isAsked = true; document.getElementById('check-start').click(); }"
                     "const rest = document.querySelector('#check-findings details');"
                     "if (rest) { rest.open = true; document.getElementById('check').scrollIntoView({ block: 'start' }); }"
                     "return rest !== null;", [], ["#check-title", "#check-start", "#check-state", "#check-findings h3"]),
    "player-code": ("/{name}", None, "if (!document.querySelector('.show')) return false;"
                    "if (!document.getElementById('code').open) document.querySelector('.show').click();"
                    "return document.getElementById('code-image').complete && document.getElementById('code-image').naturalWidth > 0;",
                    [], ["#code-image", "#code-address", "#code button"]),
}

# A phone with light and zoom, whose devices have long names, and many viewers.
PHONE = """
Object.assign(MediaStreamTrack.prototype, { getCapabilities: () => ({ torch: true, zoom: { min: 1, max: 8, step: 0.1 } }) });
const list = navigator.mediaDevices.enumerateDevices.bind(navigator.mediaDevices);
navigator.mediaDevices.enumerateDevices = async () => (await list()).map(({ kind, deviceId, label }) =>
  ({ kind, deviceId, label: label && `${label}, with a name as long as a driver gives` }));
""" + ANSWER % ("/api/streams/live/publisher", "(answer) => { answer.viewers.hls = 1234; answer.latency = 1234; }")
OCCUPIED = """
const real = window.fetch;
window.fetch = (url, options) => options?.method === "POST" ? Promise.resolve(new Response("taken", { status: 409 })) : real(url, options);
"""
DENIED = "navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('Permission denied', 'NotAllowedError'));"
# The token of another state is in the session of the tab.
STRANGER = "sessionStorage.clear();"
CLEAR = "Object.defineProperty(window, 'isSecureContext', { value: false });"
START = ("const start = document.getElementById('start');"
         "if (start.onclick && !window.isStarted && document.getElementById('microphone').options.length) {"
         " window.isStarted = true; start.click(); } ")
PUBLISH = "/{name}/publish#{token}"
PUBLISH_STATES = {
    "publish": (PUBLISH, None, "return document.getElementById('camera').options.length === 2;", [],
                [".brand", "#name", ".view p", "#camera", "#microphone", "#start"]),
    "publish-live": (PUBLISH, PHONE, START + "return document.getElementById('state').dataset.state === 'live'"
                     " && document.getElementById('facts').textContent.includes('behind');", [],
                     ["#state", "#facts", "#network", "#zoom", "#camera", "#microphone", "#flip", "#mute", "#torch", "#stop"]),
    "publish-taken": (PUBLISH, OCCUPIED, START + "return document.getElementById('takeover').checkVisibility();", [],
                      ["#state", "#takeover", "#stop"]),
    "publish-denied": (PUBLISH, DENIED, START + "return !document.getElementById('problem').hidden;", [], ["#problem", "#start"]),
    "publish-stranger": ("/{name}/publish", STRANGER, "return !document.getElementById('problem').hidden;", [], ["#problem"]),
    # The panel of the stream's page for operators.
    "publish-share": ("/{name}", None, "document.getElementById('publish').scrollIntoView({ block: 'start' });"
                      "return document.querySelectorAll('#publish-addresses li').length === 3;", [],
                      ["#publish-addresses .copy", "#publish-addresses .show", "#publish-addresses code"]),
    "publish-insecure": (PUBLISH, CLEAR, "return document.getElementById('secure').checkVisibility()"
                         " && document.getElementById('trust').checkVisibility();", [], ["#insecure", "#secure", "#trust"]),
}


def look(browser, base, name, token, state, screen, dark, folder):
    path, script, ready, arguments, needed = (STATES | PUBLISH_STATES)[state]
    width, height, phone = SCREENS[screen]
    browser.set_screen(width, height, phone)
    browser.set_dark(dark)
    added = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=script) if script else None
    try:
        browser.go("about:blank")
        browser.go(base + path.format(name=name, token=token))
        browser.until(ready, *arguments, seconds=30)
        if "player" in state:
            browser.run(AWAKE)
        # Transitions have ended.
        browser.run_async("const done = arguments[0]; Promise.all(document.getAnimations().filter((a) => a.effect.getTiming()"
                          ".iterations < 9).map((a) => a.finished)).then(() => done(true), () => done(true));")
        wrong = browser.run(CHECK, phone, needed)
        browser.screenshot(folder / f"{state}-{screen}-{'dark' if dark else 'light'}.png")
        return wrong
    finally:
        if added:
            browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("name")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("states", nargs="*")
    parser.add_argument("--token")
    options = parser.parse_args()
    wrong, looks = {}, 0
    states = PUBLISH_STATES if options.token else STATES
    with open_browser("chromium", webrtc=bool(options.token), camera=2 if options.token else False) as browser:
        browser.devtools("Page.enable")
        for state in options.states or states:
            for screen in SCREENS:
                # Colors do not depend on the size of the screen.
                for dark in (False,) if screen == "small" else (False, True):
                    found = look(browser, options.base, options.name, options.token, state, screen, dark, options.folder)
                    looks += 1
                    if found:
                        wrong[f"{state}, {screen}, {'dark' if dark else 'light'}"] = found
        # The console contains the simulated failures; violations of the content security policy are never accepted.
        forbidden = [line for line in browser.complaints() if "Content Security Policy" in line]
    print(json.dumps({"looks": looks, "wrong": wrong, "forbidden": forbidden}, ensure_ascii=False, indent=1))


main()
