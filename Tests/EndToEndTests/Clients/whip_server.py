#!/usr/bin/env python3
"""A WHIP server of aiortc, for one publisher; prints its port, and at its end as JSON what it saw.

usage: whip_server.py TOKEN [--frames 90]

The first offer with the right token gets 503 with Retry-After, the second one 307 to another path, where the session is opened. It ends
when its DELETE has come, after at least as many frames.
"""
import argparse
import asyncio
import json

from aiortc import RTCPeerConnection, RTCSessionDescription


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    return method, path, fields, (await reader.readexactly(int(fields.get("content-length", 0)))).decode()


class Server:
    def __init__(self, token, frames):
        self.token = token
        self.frames = frames
        self.peer = RTCPeerConnection()
        self.requests = []
        self.seen = {"frames": 0, "deviations": [], "times": [], "audioFrames": 0, "loudest": 0.0}
        self.has_ended = asyncio.Event()
        self.readers = []

    async def watch(self, track):
        while True:
            frame = await track.recv()
            if track.kind == "audio":
                self.seen["audioFrames"] += 1
                self.seen["loudest"] = max(self.seen["loudest"], float(abs(frame.to_ndarray().astype(float)).max()) / 32768)
                continue
            self.seen["frames"] += 1
            self.seen["times"].append(frame.time)
            self.seen["size"] = [frame.width, frame.height]
            if self.seen["frames"] % 20 == 0:
                self.seen["deviations"].append(float(frame.to_ndarray(format="gray").std()))
            if self.seen["frames"] == self.frames:
                print("enough", flush=True)

    def started(self, track):
        self.readers.append(asyncio.create_task(self.watch(track)))

    async def respond(self, method, path, fields, body):
        """Status, fields and body of a response."""
        if fields.get("authorization") != f"Bearer {self.token}":
            return "401 Unauthorized", [], ""
        if method == "DELETE":
            self.has_ended.set()
            return "200 OK", [], ""
        offers = sum(1 for request in self.requests if request[0] == "POST")
        if offers == 1:
            return "503 Service Unavailable", ["Retry-After: 2"], ""
        if path == "/whip":
            return "307 Temporary Redirect", ["Location: /edge/whip?a=1"], ""
        self.seen["offer"] = body
        self.peer.on("track", self.started)
        await self.peer.setRemoteDescription(RTCSessionDescription(body, "offer"))
        await self.peer.setLocalDescription(await self.peer.createAnswer())
        answer = self.peer.localDescription.sdp
        self.seen["answer"] = answer
        return "201 Created", ["Location: session/1", "Content-Type: application/sdp"], answer

    async def serve(self, reader, writer):
        loop = asyncio.get_running_loop()
        method, path, fields, body = await read_request(reader)
        self.requests.append([method, path, loop.time()])
        status, lines, text = await self.respond(method, path, fields, body)
        lines = [f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(text.encode())}", "Connection: close", "", text]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()
        writer.close()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("token")
    parser.add_argument("--frames", type=int, default=90)
    options = parser.parse_args()
    server = Server(options.token, options.frames)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await server.has_ended.wait()
    # The response of DELETE is on its way.
    await asyncio.sleep(0.2)
    for reader in server.readers:
        reader.cancel()
    times = server.seen.pop("times")
    server.seen["isMonotonic"] = all(b > a for a, b in zip(times, times[1:]))
    server.seen["deviation"] = min(server.seen.pop("deviations"), default=0)
    start = server.requests[0][2]
    server.seen["requests"] = [f"{method} {path}" for method, path, _ in server.requests]
    server.seen["delays"] = [time - start for _, _, time in server.requests]
    await server.peer.close()
    print(json.dumps(server.seen), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
