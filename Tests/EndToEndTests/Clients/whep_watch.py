#!/usr/bin/env python3
"""Watches a stream in Chromium as one viewer or several, and reports continuously what their WebRTC counts.

usage: whep_watch.py URL NAME [--peers N]

Each line of standard input is a command, and has a line of JSON as its response:
    join     opens the sessions; seconds from the POST to the first shown frame of each
    look     samples of each session since the last look, ten a second: those of SAMPLES, and the times of its shown frames
    leave    ends the sessions
The page that runs this has the origin of the stream.
"""
import argparse
import json
import sys

from browser import open_browser

# Runs in the page. Times are in seconds since 1970, as in Python.
SCRIPT = """
window.sessions = [];
const now = () => Date.now() / 1000;
const sample = async (session) => {
  const entry = { time: now(), connection: session.peer.connectionState };
  for (const report of (await session.peer.getStats()).values()) {
    if (report.type !== "inbound-rtp") continue;
    entry.bytes = (entry.bytes ?? 0) + report.bytesReceived + report.headerBytesReceived - (report.retransmittedBytesReceived ?? 0);
    if (report.kind !== "video") continue;
    Object.assign(entry, { decoded: report.framesDecoded, keyframes: report.keyFramesDecoded, freezes: report.freezeCount,
      nacks: report.nackCount, plis: report.pliCount, lost: report.packetsLost, width: report.frameWidth ?? 0,
      retransmitted: report.retransmittedPacketsReceived ?? 0 });
  }
  session.samples.push(entry);
};
const open = async (url) => {
  const session = { samples: [], frames: [], peer: new RTCPeerConnection() }, { peer } = session;
  for (const kind of ["video", "audio"]) peer.addTransceiver(kind, { direction: "recvonly" });
  const video = document.createElement("video");
  Object.assign(video, { muted: true, autoplay: true, playsInline: true, width: 320, height: 180 });
  document.body.append(session.video = video);
  const first = new Promise((resolve) => {
    const look = () => {
      session.frames.push(now());
      resolve();
      video.requestVideoFrameCallback(look);
    };
    video.requestVideoFrameCallback(look);
  });
  peer.ontrack = ({ track, streams }) => { if (track.kind === "video") video.srcObject = streams[0] ?? new MediaStream([track]); };
  const offer = await peer.createOffer();
  await peer.setLocalDescription(offer);
  const begin = now();
  const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/sdp" }, body: offer.sdp });
  if (answer.status !== 201) throw new Error(`status ${answer.status}`);
  session.url = new URL(answer.headers.get("Location"), url).href;
  window.sessions.push(session);
  await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  session.timer = setInterval(sample, 100, session);
  await first;
  return session.frames[0] - begin;
};
window.join = (url, count) => Promise.all(Array.from({ length: count }, () => open(url)));
window.look = async () => {
  await Promise.all(window.sessions.map(sample));
  return window.sessions.map((session) => ({ samples: session.samples.splice(0), frames: session.frames.splice(0) }));
};
window.leave = async () => {
  const leaving = window.sessions.splice(0);
  await Promise.all(leaving.map(async (session) => {
    clearInterval(session.timer);
    session.peer.close();
    session.video.remove();
    return (await fetch(session.url, { method: "DELETE" })).status;
  }));
  return leaving.length;
};
"""
CALLS = {"join": "window.join(arguments[0], arguments[1])", "look": "window.look()", "leave": "window.leave()"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url", help="http://ADDRESS:PORT")
    parser.add_argument("name")
    parser.add_argument("--peers", type=int, default=1)
    options = parser.parse_args()
    with open_browser("chromium", names=[options.url.split("/")[2].split(":")[0]], webrtc=True) as browser:
        browser.go(f"{options.url}/health")
        browser.run(SCRIPT)
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            call = CALLS[line.strip()]
            result = browser.run_async(
                "const done = arguments[arguments.length - 1];"
                f"{call}.then(done, (error) => done({{ failure: String(error) }}));",
                f"{options.url}/{options.name}/whep", options.peers)
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
