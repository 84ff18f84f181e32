#!/usr/bin/env python3
"""Publishes a browser's camera and microphone by WHIP from a bare page of another origin, and prints as JSON what became of it.

usage: whip_publish.py URL --bearer TOKEN --until FILE [--browser firefox] [--strip | --flash] [--shrink [--pause 2]]

Chromium's camera is a generated one with a beep each second; Firefox's is a noise of colors with a tone. With --strip the video has the
timecode strip, and the audio a sine in each channel; with --flash both have a signal at once, each second (strip.py). With --shrink the
video is sent at half its width and height after a pause in seconds, and as before after another one. It publishes until the file exists.
"""
import argparse
import http.server
import json
import os
import threading
import time
from urllib.parse import urlencode

from browser import open_browser
from strip import FLASH_CAMERA, STRIP_CAMERA

PAGE = b"""<!doctype html><meta charset="utf-8"><title>publish</title><video muted autoplay playsinline></video>
<script>""" + (STRIP_CAMERA + FLASH_CAMERA).encode() + b"""</script>
<script type="module">
const query = new URLSearchParams(location.search), credentials = { Authorization: `Bearer ${query.get("bearer")}` };
window.errors = [];
window.sizes = [];
try {
  const drawn = query.has("strip") ? window.stripCamera() : query.has("flash") ? window.flashCamera() : null;
  const media = drawn ?? await navigator.mediaDevices.getUserMedia({
    video: { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 30 } },
    audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
  document.querySelector("video").srcObject = media;
  const peer = window.peer = new RTCPeerConnection();
  for (const track of media.getTracks()) peer.addTransceiver(track, { direction: "sendonly", streams: [media] });
  await peer.setLocalDescription(await peer.createOffer());
  const answer = await fetch(query.get("url"), {
    method: "POST", headers: { "Content-Type": "application/sdp", ...credentials }, body: peer.localDescription.sdp });
  window.code = answer.status;
  window.answer = await answer.text();
  if (answer.status === 201) {
    window.session = new URL(answer.headers.get("Location"), query.get("url")).href;
    await peer.setRemoteDescription({ type: "answer", sdp: window.answer });
  }
  window.scale = async (factor) => {
    const sender = peer.getSenders().find(({ track }) => track.kind === "video"), parameters = sender.getParameters();
    parameters.encodings[0].scaleResolutionDownBy = factor;
    await sender.setParameters(parameters);
  };
  window.end = async () => {
    const response = await fetch(window.session, { method: "DELETE", headers: credentials });
    peer.close();
    return response.status;
  };
  window.measure = async () => {
    const seen = { connection: peer.connectionState };
    const all = [...(await peer.getStats()).values()];
    for (const entry of all) {
      if (entry.type !== "outbound-rtp") continue;
      const codec = all.find(({ id }) => id === entry.codecId), remote = all.find(({ id }) => id === entry.remoteId);
      if (entry.kind === "audio") {
        Object.assign(seen, { audioCodec: codec?.mimeType, audioPackets: entry.packetsSent });
      } else {
        Object.assign(seen, {
          codec: codec?.mimeType, encoded: entry.framesEncoded, height: entry.frameHeight, keyframesRequested: entry.pliCount,
          retransmitted: entry.retransmittedPacketsSent, roundTrip: remote?.roundTripTime, loss: remote?.fractionLost });
      }
    }
    return seen;
  };
} catch (error) {
  window.errors.push(`${error}`);
}
window.done = true;
</script>"""

MEASURE = "const end = arguments[arguments.length - 1]; window.measure().then(end)"


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--bearer", required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--strip", action="store_true")
    parser.add_argument("--flash", action="store_true")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--pause", type=float, default=2)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open_browser(options.browser, webrtc=True, camera=True) as browser:
        signals = {name: "1" for name in ("strip", "flash") if getattr(options, name)}
        query = urlencode({"url": options.url, "bearer": options.bearer} | signals)
        browser.go(f"http://127.0.0.1:{server.server_port}/?{query}")
        browser.until("return window.done")
        seen = {"status": browser.run("return window.code"), "errors": browser.run("return window.errors")}
        if seen["status"] == 201:
            browser.until("return window.peer.connectionState === 'connected'")
            if options.shrink:
                seen["heights"] = []
                for factor in (2, 1):
                    time.sleep(options.pause)
                    browser.run_async("const end = arguments[arguments.length - 1]; window.scale(arguments[0]).then(end)", factor)
                    # Before the next change, which is a pause later.
                    time.sleep(min(1, options.pause / 2))
                    seen["heights"].append(browser.run_async(MEASURE).get("height"))
            while not os.path.exists(options.until):
                time.sleep(0.1)
            seen.update(browser.run_async(MEASURE))
            seen["deleted"] = browser.run_async("const end = arguments[arguments.length - 1]; window.end().then(end)")
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
