#!/usr/bin/env python3
"""Plays a WHEP URL in Chromium from a bare page of another origin, and prints as JSON what it saw.

usage: whep_play.py URL [--frames 60] [--wrong-fingerprint] [--restart] [--tcp] [--bearer TOKEN] [--browser firefox]
                    [--while COMMAND] [--center] [--own-addresses] [--page-host 127.0.0.1]

The latency of each frame is read from its timecode strip. With --wrong-fingerprint the offer names another certificate than
the browser has. With --restart ICE is restarted by PATCH while it plays. With --tcp the browser does not get the server's UDP
candidates. With --while, the stream plays while a shell command runs. With --center, the deviation is that of the face in the
clip of the tests. With --page-host the page has another address of this machine: Firefox offers those by which it reached its page. The
colors are those of four points of the last frame: of the bars' first, second and last bar, and of the white field below.
"""
import argparse
import http.server
import json
import socket
import subprocess
import threading
import time
from urllib.parse import urlencode, urlsplit

from browser import FACTOR, open_browser
from strip import STRIP

PAGE = b"""<!doctype html><meta charset="utf-8"><title>play</title>
<video muted autoplay playsinline width="640" height="360"></video>
<script type="module">
const query = new URLSearchParams(location.search), video = document.querySelector("video");
const credentials = query.has("bearer") ? { Authorization: `Bearer ${query.get("bearer")}` } : {};
window.errors = [];
window.states = [];
const peer = window.peer = new RTCPeerConnection();
peer.addTransceiver("video", { direction: "recvonly" });
peer.addTransceiver("audio", { direction: "recvonly" });
peer.ontrack = ({ track, streams }) => { if (track.kind === "video") video.srcObject = streams[0] ?? new MediaStream([track]); };
peer.onconnectionstatechange = () => window.states.push(peer.connectionState);
window.begin = performance.now();
const offer = await peer.createOffer();
await peer.setLocalDescription(offer);
let sdp = offer.sdp;
if (query.has("wrong")) sdp = sdp.replace(/(a=fingerprint:sha-256 )([0-9A-F]{2})/g, (_, name, byte) => name + (byte === "00" ? "01" : "00"));
const answer = await fetch(query.get("url"), {
  method: "POST", headers: { "Content-Type": "application/sdp", ...credentials }, body: sdp });
window.code = answer.status;
window.answer = await answer.text();
if (query.has("tcp")) window.answer = window.answer.replace(/a=candidate:[^\\n]* udp [^\\n]*\\n/g, "");
if (answer.status === 201) {
  const session = window.session = new URL(answer.headers.get("Location"), query.get("url")).href;
  window.entityTag = answer.headers.get("ETag");
  await peer.setRemoteDescription({ type: "answer", sdp: window.answer });
  window.restart = async () => {
    const offer = await peer.createOffer({ iceRestart: true });
    await peer.setLocalDescription(offer);
    const line = (name) => offer.sdp.match(new RegExp(`^a=${name}:.*$`, "m"))[0];
    const response = await fetch(session, { method: "PATCH", body: `${line("ice-ufrag")}\\r\\n${line("ice-pwd")}\\r\\n`,
      headers: { "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": window.entityTag, ...credentials } });
    const text = await response.text(), value = (name) => text.match(new RegExp(`^a=${name}:(.*?)\\r?$`, "m"))[1];
    await peer.setRemoteDescription({ type: "answer", sdp: window.answer
      .replace(/a=ice-ufrag:.*/g, `a=ice-ufrag:${value("ice-ufrag")}`).replace(/a=ice-pwd:.*/g, `a=ice-pwd:${value("ice-pwd")}`) });
    return [response.status, response.headers.get("ETag") !== window.entityTag];
  };
  window.finish = async () => (await fetch(session, { method: "DELETE", headers: credentials })).status;
}
</script>"""

WATCH = STRIP + """
window.ages = [];
window.frames = 0;
const video = document.querySelector("video");
const look = (now, { width, height }) => {
  window.first ??= now - window.begin;
  window.frames += 1;
  const captured = window.strip(video, width, height);
  if (captured !== null) window.ages.push(Date.now() / 1000 - captured / 1e6);
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
"""

# Statistics of the browser's WebRTC, and the deviation of the luma of the shown frame.
STATE = """
const parameters = [...arguments], done = parameters.at(-1), video = document.querySelector("video");
(async () => {
  const reports = [...(await window.peer.getStats()).values()];
  const inbound = reports.find(({ type, kind }) => type === "inbound-rtp" && kind === "video") ?? {};
  const transport = reports.find(({ type }) => type === "transport") ?? {};
  const context = new OffscreenCanvas(64, 36).getContext("2d");
  const [width, height] = [video.videoWidth, video.videoHeight];
  // As Harness/FaceClip.swift.
  const part = parameters[0] ? [width * 60 / 160, height * 34 / 90, width * 26 / 160, height * 32 / 90] : [0, 0, width, height];
  if (width) context.drawImage(video, ...part, 0, 0, 64, 36);
  const luma = [...context.getImageData(0, 0, 64, 36).data].filter((_, index) => index % 4 === 1);
  const mean = luma.reduce((sum, value) => sum + value, 0) / luma.length;
  const wide = new OffscreenCanvas(100, 100).getContext("2d");
  if (video.videoWidth) wide.drawImage(video, 0, 0, 100, 100);
  const colors = [[7, 45], [21, 45], [93, 45], [25, 92]].map(([x, y]) => [...wide.getImageData(x, y, 1, 1).data].slice(0, 3));
  const pair = reports.find(({ id }) => id === transport.selectedCandidatePairId)
    ?? reports.find(({ type, nominated, state }) => type === "candidate-pair" && nominated && state === "succeeded") ?? {};
  const local = reports.find(({ id }) => id === pair.localCandidateId) ?? {};
  const audio = reports.find(({ type, kind }) => type === "inbound-rtp" && kind === "audio") ?? {};
  const currentDirections = window.peer.getTransceivers().map(({ currentDirection }) => currentDirection);
  done({ colors, protocol: local.protocol ?? "", currentDirections, audioPackets: audio.packetsReceived ?? 0, decoded: inbound.framesDecoded ?? 0, keyframes: inbound.keyFramesDecoded ?? 0, nacks: inbound.nackCount ?? 0,
    plis: inbound.pliCount ?? 0, freezes: inbound.freezeCount ?? 0, received: inbound.packetsReceived ?? 0,
    cipher: transport.srtpCipher ?? "", connection: window.peer.connectionState, states: window.states,
    width: video.videoWidth, height: video.videoHeight,
    deviation: Math.sqrt(luma.reduce((sum, value) => sum + (value - mean) ** 2, 0) / luma.length) });
})();
"""


def serve(host):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    server = Server((host, 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"[{host}]:{server.server_port}" if ":" in host else f"{host}:{server.server_port}"


def connected_state(browser, center):
    """The statistics once a pair of candidates is in use, which after a restart of ICE is later than frames by the former pair."""
    deadline = time.monotonic() + 40 * FACTOR
    while True:
        state = browser.run_async(STATE, center)
        if state["connection"] == "connected" and state["protocol"] or time.monotonic() > deadline:
            return state
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--own-addresses", action="store_true")
    parser.add_argument("--page-host", default="127.0.0.1")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--wrong-fingerprint", action="store_true")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--while", dest="command")
    parser.add_argument("--center", action="store_true")
    parser.add_argument("--bearer")
    options = parser.parse_args()
    query = {"url": options.url}
    if options.wrong_fingerprint:
        query["wrong"] = "1"
    if options.bearer:
        query["bearer"] = options.bearer
    if options.tcp:
        query["tcp"] = "1"
    names = ("::1", "fd00:5::9", urlsplit(options.url).hostname)
    with open_browser(options.browser, names=names, webrtc=True, own_addresses=options.own_addresses) as browser:
        browser.go(f"http://{serve(options.page_host)}/?" + urlencode(query))
        status = browser.until("return window.code")
        seen = {"status": status}
        if status == 201 and options.wrong_fingerprint:
            # The server ends the session: close_notify of DTLS, or silence.
            browser.until("return ['failed', 'closed', 'disconnected'].includes(window.peer.connectionState)", seconds=40)
            seen.update(browser.run_async(STATE, options.center))
        elif status == 201 and options.browser == "firefox":
            # Firefox has no H.264 as packaged: audio alone.
            browser.until("return window.peer.connectionState === 'connected'")
            deadline = time.monotonic() + 20 * FACTOR
            while not seen.get("audioPackets", 0) > 50 and time.monotonic() < deadline:
                seen.update(browser.run_async(STATE, options.center))
                time.sleep(0.2)
            seen["deleted"] = browser.run_async("window.finish().then(arguments[arguments.length - 1])")
        elif status == 201:
            browser.run(WATCH)
            browser.until(f"return window.frames >= {options.frames} && window.first !== undefined")
            if options.restart:
                seen["restart"] = browser.run_async("window.restart().then(arguments[arguments.length - 1])")
                count = browser.run("return window.frames")
                browser.until(f"return window.frames >= {count + options.frames}")
            if options.command:
                count = browser.run("return window.frames")
                freezes = browser.run_async(STATE, options.center)["freezes"]
                subprocess.run(options.command, shell=True, check=True)
                seen["framesMeanwhile"] = browser.run("return window.frames") - count
                browser.until(f"return window.frames >= {count} + 10")
                seen["freezesMeanwhile"] = browser.run_async(STATE, options.center)["freezes"] - freezes
            seen.update(connected_state(browser, options.center))
            ages = sorted(browser.run("return window.ages"))
            seen.update({
                "firstFrameSeconds": browser.run("return window.first") / 1000, "latencies": len(ages),
                "medianLatency": ages[len(ages) // 2] if ages else None,
                "lateLatency": ages[len(ages) * 95 // 100] if ages else None})
            seen["deleted"] = browser.run_async("window.finish().then(arguments[arguments.length - 1])")
            # The server has notified the browser by close_notify.
            browser.until("return ['failed', 'closed', 'disconnected'].includes(window.peer.connectionState)")
            seen["deletedAgain"] = browser.run_async("window.finish().then(arguments[arguments.length - 1])")
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
