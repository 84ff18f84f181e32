#!/usr/bin/env python3
"""Plays a WHEP URL with aiortc, an implementation of WebRTC that shares no code with browsers, and prints as JSON what it saw.

usage: whep_aiortc.py URL [--frames 60] [--bearer TOKEN] [--until FILE] [--faces] [--audio]

With --until it plays until the file exists, and prints the arrival time of each frame in microseconds since 1970. With --faces it plays
640x360, and prints the luma of the brightest pixel where single_face.mp4 has its face, of each frame. With --audio it decodes audio
as well, until 50 frames have come.
"""
import argparse
import asyncio
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

from aiortc import RTCPeerConnection, RTCSessionDescription


def request(method, url, headers, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=300) as response:
            return response.status, dict(response.headers), response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()


async def listen(tracks, count=50):
    """Number of frames that were decoded, the largest sample from 0 to 1, and whether the times increase."""
    track = await tracks.get()
    times, loudest = [], 0.0
    while len(times) < count:
        frame = await track.recv()
        times.append(frame.time)
        loudest = max(loudest, float(abs(frame.to_ndarray().astype(float)).max()) / 32768)
    return len(times), loudest, all(b > a for a, b in zip(times, times[1:]))


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--bearer")
    parser.add_argument("--until")
    parser.add_argument("--faces", action="store_true")
    parser.add_argument("--audio", action="store_true")
    options = parser.parse_args()
    headers = {"Authorization": f"Bearer {options.bearer}"} if options.bearer else {}
    peer = RTCPeerConnection()
    tracks = asyncio.Queue()
    audio_tracks = asyncio.Queue()
    peer.on("track", lambda track: (tracks if track.kind == "video" else audio_tracks).put_nowait(track))
    peer.addTransceiver("video", direction="recvonly")
    peer.addTransceiver("audio", direction="recvonly")
    await peer.setLocalDescription(await peer.createOffer())
    loop = asyncio.get_running_loop()
    status, fields, text = await loop.run_in_executor(None, lambda: request(
        "POST", options.url, {"Content-Type": "application/sdp", **headers}, peer.localDescription.sdp.encode()))
    seen = {"status": status}
    if status == 201:
        await peer.setRemoteDescription(RTCSessionDescription(text, "answer"))
        track = await asyncio.wait_for(tracks.get(), 300)
        listening = asyncio.create_task(listen(audio_tracks)) if options.audio else None
        times, deviations, size = [], [], None
        arrivals, faces = [], []
        while not os.path.exists(options.until) if options.until else len(times) < options.frames:
            frame = await asyncio.wait_for(track.recv(), 300)
            arrivals.append(int(time.time() * 1e6))
            if options.faces:
                luma = frame.to_ndarray(format="gray")
                faces.append(int(luma[34 * 4:66 * 4, 60 * 4:86 * 4].max()))
            size = [frame.width, frame.height]
            times.append(frame.time)
            if len(times) % 20 == 0:
                deviations.append(float(frame.to_ndarray(format="gray").std()))
        session = urllib.parse.urljoin(options.url, fields["Location"])
        if options.until:
            seen["arrivals"] = arrivals
        if options.faces:
            seen["faces"] = faces
        if listening:
            seen["audioFrames"], seen["loudest"], seen["isAudioMonotonic"] = await asyncio.wait_for(listening, 300)
        seen.update({
            "width": size[0], "height": size[1], "frames": len(times), "deviation": min(deviations, default=0),
            "isMonotonic": all(b > a for a, b in zip(times, times[1:])), "seconds": times[-1] - times[0],
            "deleted": (await loop.run_in_executor(None, lambda: request("DELETE", session, headers)))[0]})
    await peer.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
