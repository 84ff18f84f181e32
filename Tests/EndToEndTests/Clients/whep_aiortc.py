#!/usr/bin/env python3
"""Plays a WHEP URL with aiortc, an implementation of WebRTC that shares no code with browsers, and prints as JSON what it saw.

usage: whep_aiortc.py URL [--frames 60] [--bearer TOKEN]
"""
import argparse
import asyncio
import json
import urllib.error
import urllib.parse
import urllib.request

from aiortc import RTCPeerConnection, RTCSessionDescription


def request(method, url, headers, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=20) as response:
            return response.status, dict(response.headers), response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--bearer")
    options = parser.parse_args()
    headers = {"Authorization": f"Bearer {options.bearer}"} if options.bearer else {}
    peer = RTCPeerConnection()
    tracks = asyncio.Queue()
    peer.on("track", lambda track: tracks.put_nowait(track) if track.kind == "video" else None)
    peer.addTransceiver("video", direction="recvonly")
    peer.addTransceiver("audio", direction="recvonly")
    await peer.setLocalDescription(await peer.createOffer())
    loop = asyncio.get_running_loop()
    status, fields, text = await loop.run_in_executor(None, lambda: request(
        "POST", options.url, {"Content-Type": "application/sdp", **headers}, peer.localDescription.sdp.encode()))
    seen = {"status": status}
    if status == 201:
        await peer.setRemoteDescription(RTCSessionDescription(text, "answer"))
        track = await asyncio.wait_for(tracks.get(), 20)
        times, deviations, size = [], [], None
        while len(times) < options.frames:
            frame = await asyncio.wait_for(track.recv(), 20)
            size = [frame.width, frame.height]
            times.append(frame.time)
            if len(times) % 20 == 0:
                deviations.append(float(frame.to_ndarray(format="gray").std()))
        session = urllib.parse.urljoin(options.url, fields["Location"])
        seen.update({
            "width": size[0], "height": size[1], "frames": len(times), "deviation": min(deviations),
            "isMonotonic": all(b > a for a, b in zip(times, times[1:])), "seconds": times[-1] - times[0],
            "deleted": (await loop.run_in_executor(None, lambda: request("DELETE", session, headers)))[0]})
    await peer.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
