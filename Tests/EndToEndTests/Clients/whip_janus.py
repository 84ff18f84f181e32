#!/usr/bin/env python3
"""A WHIP server in front of Janus, for one publisher; prints its port, and at its end as JSON what it saw.

usage: whip_janus.py FOLDER TOKEN

It prints "enough" once Janus has 300 packets of each track, and ends with the DELETE of the session. The folder is that of
Harness/Janus.swift. Requests to Janus are those of simple-whip-server, which cannot be installed beside a Node.js that is not Debian's.
"""
import asyncio
import json
import socket
import sys
import time

from whip_server import read_request


class Janus:
    """A connection to one of Janus' two sockets, on which each message is a packet of JSON."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        self.connect(path)
        self.count = 0

    def connect(self, path):
        # Janus says that it listens, and then makes its sockets.
        deadline = time.monotonic() + 300
        while True:
            try:
                return self.socket.connect(path)
            except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    async def ask(self, request, answer="success", **fields):
        """The answer to a request; "event" is what it has begun."""
        loop = asyncio.get_running_loop()
        self.count += 1
        message = {"janus": request, "transaction": str(self.count), **fields}
        await loop.sock_sendall(self.socket, json.dumps(message).encode())
        while True:
            response = json.loads(await loop.sock_recv(self.socket, 1 << 20))
            if response.get("transaction") != str(self.count):
                continue
            if response["janus"] == "error" or "error" in response.get("plugindata", {}).get("data", {}):
                raise RuntimeError(f"{request}: {response}")
            if response["janus"] == answer:
                return response


class Server:
    def __init__(self, folder, token):
        self.token = token
        self.janus = Janus(f"{folder}/api")
        self.admin = Janus(f"{folder}/admin")
        self.seen = {"requests": []}
        self.has_ended = asyncio.Event()

    async def publish(self, offer):
        session = {"session_id": (await self.janus.ask("create"))["data"]["id"]}
        attached = await self.janus.ask("attach", plugin="janus.plugin.videoroom", **session)
        session["handle_id"] = attached["data"]["id"]
        body = {"request": "joinandconfigure", "room": 1234, "ptype": "publisher"}
        answer = await self.janus.ask("message", "event", body=body, jsep={"type": "offer", "sdp": offer}, **session)
        self.watcher = asyncio.create_task(self.watch(session))
        return answer["jsep"]["sdp"]

    async def watch(self, session):
        """Looks at Janus' counters until it has enough packets of each track."""
        while True:
            info = (await self.admin.ask("handle_info", admin_secret="admin", **session))["info"]
            media = info.get("webrtc", {}).get("media")
            if media and all(track["stats"]["in"]["packets"] >= 300 for track in media.values()):
                break
            await asyncio.sleep(0.1)
        self.seen["codecs"] = [track["codecs"]["codec"] for track in media.values()]
        print("enough", flush=True)

    async def respond(self, method, fields, body):
        """Status, fields and body of a response."""
        if fields.get("authorization") != f"Bearer {self.token}":
            return "403 Forbidden", [], "Unauthorized"
        if method == "DELETE":
            self.has_ended.set()
            return "200 OK", [], "OK"
        lines = ["Location: /whip/resource/live", 'ETag: "1"', "Content-Type: application/sdp"]
        return "201 Created", lines, await self.publish(body)

    async def serve(self, reader, writer):
        method, path, fields, body = await read_request(reader)
        self.seen["requests"].append(f"{method} {path}")
        status, lines, text = await self.respond(method, fields, body)
        lines = [f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(text.encode())}", "Connection: close", "", text]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()
        writer.close()


async def main():
    server = Server(*sys.argv[1:])
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await server.has_ended.wait()
    # The response of DELETE is on its way.
    await asyncio.sleep(0.2)
    print(json.dumps(server.seen), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
