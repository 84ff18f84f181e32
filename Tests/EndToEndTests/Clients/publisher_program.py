"""The program as a server of publishers over WebRTC, on ports that it keeps when it is started again."""
import json
import os
import subprocess
import threading
import time
import urllib.request

from browser import FACTOR, free_port

TOKEN = "0123456789abcdef0123"


class Server:
    """The program on ports that it keeps."""

    def __init__(self, program, folder):
        self.http, self.https, webrtc = free_port(), free_port(), free_port()
        self.command = [
            program, "serve", "--json", "--source", f"whip:?token={TOKEN}", "--size", "640x360", "--fps", "30", "--rtsp-port", "0",
            "--http-port", str(self.http), "--https-port", str(self.https), "--webrtc-port", str(webrtc), "--no-discovery"]
        self.environment = os.environ | {"XDG_STATE_HOME": folder}

    def start(self):
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.process.stdout.readline()
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def stop(self, number):
        self.process.send_signal(number)
        return self.process.wait(20 * FACTOR)

    def publisher(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/api/streams/live", timeout=10 * FACTOR) as response:
            return json.load(response)["publisher"]

    def frames_follow(self, begin, count=30):
        """Waits for a number of further frames; returns the seconds since `begin`, and the number of sessions."""
        first = self.publisher()["framesReceived"]
        deadline = time.monotonic() + 60 * FACTOR
        while True:
            publisher = self.publisher()
            if publisher["framesReceived"] >= first + count:
                return {"seconds": round(time.time() - begin, 2), "sessions": publisher["sessionsOpened"]}
            if time.monotonic() > deadline:
                raise SystemExit(f"no frames follow: {publisher}")
            time.sleep(0.1)
