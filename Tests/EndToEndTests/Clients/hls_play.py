#!/usr/bin/env python3
"""Plays an HLS URL in Chromium from a page of another origin, as players on third-party pages do.

usage: hls_play.py native|hlsjs URL [--library FILE] [--seconds 10] [--restarts 0] [--server-restart FILE]

"native" sets the URL as the source of a <video>; "hlsjs" plays it with hls.js, which is FILE. Prints as JSON the latency of
each frame, read from the timecode strip, and the text cues of the stream; then, for each further start of the page, the time
that was played in three seconds after the first two, and the width of the video at their end. With --server-restart it makes the
file for which service_manager.py starts the server again, once the page plays; restartSeconds is the time that this took.
"""
import argparse
import http.server
import json
import os
import threading
import time
from urllib.parse import urlencode

from browser import open_browser
from strip import STRIP

PAGE = b"""<!doctype html><meta charset="utf-8"><title>play</title>
<video muted autoplay playsinline crossorigin="anonymous" width="640" height="360"></video>
<script type="module">
const query = new URLSearchParams(location.search), url = query.get("url"), video = document.querySelector("video");
window.errors = [];
video.addEventListener("error", () => window.errors.push(`video: ${video.error.code} ${video.error.message}`));
window.addEventListener("error", (event) => window.errors.push(event.message));
window.addEventListener("unhandledrejection", (event) => window.errors.push(String(event.reason)));
if (query.get("with") === "native") {
  video.src = url;
} else {
  const { default: Hls } = await import("/library.mjs");
  const player = window.player = new Hls(query.has("buffer")
    ? { lowLatencyMode: false, liveSyncDuration: Number(query.get("buffer")) } : { lowLatencyMode: true });
  player.on(Hls.Events.ERROR, (_, error) => window.errors.push(`hls.js: ${error.fatal ? "fatal " : ""}${error.details}`));
  window.heights = [];
  player.on(Hls.Events.LEVEL_SWITCHED, (_, { level }) => window.heights.push(player.levels[level].height));
  player.loadSource(url);
  player.attachMedia(video);
}
</script>"""

WATCH = STRIP + """
window.ages = [];
const video = document.querySelector("video");
const look = () => {
  const captured = window.strip(video, video.videoWidth, video.videoHeight);
  if (captured !== null) window.ages.push(Date.now() / 1000 - captured / 1e6);
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
"""

STATE = """
const video = document.querySelector("video"), quality = video.getVideoPlaybackQuality();
const cues = [...video.textTracks].flatMap((track) => [...(track.cues ?? [])]).filter(({ value }) => value?.key === "TXXX");
return { cues: cues.map(({ startTime, value }) => ({ time: startTime, name: value.info, text: value.data })), position: video.currentTime, decoded: quality.totalVideoFrames, dropped: quality.droppedVideoFrames,
  audioBytes: video.webkitAudioDecodedByteCount, width: video.videoWidth, height: video.videoHeight,
  errors: window.errors, ages: window.ages ?? [] };
"""


def serve(library):
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            is_library = self.path == "/library.mjs"
            body = library if is_library else PAGE
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if is_library else "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["native", "hlsjs"])
    parser.add_argument("url")
    parser.add_argument("--library")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--restarts", type=int, default=0)
    parser.add_argument("--server-restart")
    options = parser.parse_args()
    port = serve(open(options.library, "rb").read() if options.library else b"")
    with open_browser("chromium") as browser:
        def start(settling=4):
            browser.go(f"http://127.0.0.1:{port}/?" + urlencode({"with": options.way, "url": options.url}))
            browser.until("const v = document.querySelector('video'); return v.readyState >= 3 && v.currentTime > 0;", seconds=25)
            time.sleep(settling)

        start()
        browser.run(WATCH)
        before = browser.run(STATE)
        begin = time.monotonic()
        if options.server_restart:
            open(options.server_restart, "w").close()
            while os.path.exists(options.server_restart):
                time.sleep(0.02)
        restart = time.monotonic() - begin
        time.sleep(options.seconds)
        after = browser.run(STATE)
        ages = sorted(after.pop("ages"))
        after.update({
            "elapsedSeconds": time.monotonic() - begin, "playedSeconds": after["position"] - before["position"],
            "restartSeconds": restart, "decoded": after["decoded"] - before["decoded"],
            "audioBytes": after["audioBytes"] - before["audioBytes"],
            "medianLatency": ages[len(ages) // 2] if ages else None, "latencies": len(ages), "restarts": []})
        for _ in range(options.restarts):
            start(settling=2)
            position, begin = browser.run(STATE)["position"], time.monotonic()
            time.sleep(3)
            state = browser.run(STATE)
            after["restarts"].append({
                "elapsedSeconds": time.monotonic() - begin, "playedSeconds": state["position"] - position,
                "width": state["width"], "errors": state["errors"]})
        print(json.dumps(after))


if __name__ == "__main__":
    main()
