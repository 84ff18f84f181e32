"""Runs OBS Studio (made for 29, Debian 12's) on a virtual display, controlled over obs-websocket 5."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from browser import free_port, timeout

SOURCE = "Camera"
SCENE = "Scene"


class Remote:
    """A client of obs-websocket 5, over a minimal WebSocket."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout(20))
        self.buffer = b""
        self.count = 0
        self.socket.sendall((f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Protocol: obswebsocket.json\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head:
            raise OSError(head)
        self.receive()  # Hello
        self.send({"op": 1, "d": {"rpcVersion": 1, "eventSubscriptions": 0}})
        self.receive()  # Identified

    def fill(self):
        received = self.socket.recv(65536)
        if not received:
            raise OSError("OBS closed the connection")
        self.buffer += received

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, message):
        payload = json.dumps(message).encode()
        length = bytes([0x80 | len(payload)]) if len(payload) < 126 else struct.pack("!BH", 0x80 | 126, len(payload))
        self.socket.sendall(b"\x81" + length + b"\0\0\0\0" + payload)

    def receive(self):
        message = b""
        while True:
            first, length = self.take(2)
            if length == 126:
                length, = struct.unpack("!H", self.take(2))
            elif length == 127:
                length, = struct.unpack("!Q", self.take(8))
            payload = self.take(length)
            if first & 15 == 8:
                raise OSError(f"OBS closed the connection: {payload}")
            if first & 15 <= 2:
                message += payload
                if first & 0x80:
                    return json.loads(message)

    def ask(self, kind, **data):
        """Sends a request. Returns the response, or None when OBS refuses."""
        self.count += 1
        self.send({"op": 6, "d": {"requestType": kind, "requestId": str(self.count), "requestData": data}})
        while True:
            message = self.receive()
            if message["op"] == 7 and message["d"]["requestId"] == str(self.count):
                return message["d"].get("responseData", {}) if message["d"]["requestStatus"]["result"] else None


def write_configuration(folder, port, media, profile, service):
    base = folder / "obs-studio"
    (base / "basic/profiles/Test").mkdir(parents=True)
    (base / "basic/scenes").mkdir(parents=True)
    (base / "global.ini").write_text(f"""[General]
FirstRun=true
LastVersion=486539266
InfoIncrement=999
EnableAutoUpdates=false
Pre19Defaults=false
Pre21Defaults=false
Pre23Defaults=false
Pre24.1Defaults=false
[Basic]
Profile=Test
ProfileDir=Test
SceneCollection=Test
SceneCollectionFile=Test
ConfigOnNewProfile=false
[OBSWebSocket]
FirstLoad=false
ServerEnabled=true
ServerPort={port}
AlertsEnabled=false
AuthRequired=false
ServerPassword=none
""")
    (base / "basic/profiles/Test/basic.ini").write_text("""[General]
Name=Test
[Video]
BaseCX=640
BaseCY=360
OutputCX=640
OutputCY=360
FPSType=0
FPSCommon=30
[Audio]
SampleRate=48000
ChannelSetup=Stereo
""" + profile)
    if service:
        (base / "basic/profiles/Test/service.json").write_text(json.dumps({"type": "rtmp_custom", "settings": service}))
    media = {
        "id": "ffmpeg_source", "versioned_id": "ffmpeg_source", "name": SOURCE, "enabled": True, "muted": False,
        "volume": 1.0, "mixers": 255, "monitoring_type": 0,
        "settings": {"hw_decode": False, "restart_on_activate": False, "close_when_inactive": False,
                     "clear_on_media_end": True, **media}}
    item = {"name": SOURCE, "id": 1, "visible": True, "locked": False, "rot": 0.0, "align": 5, "bounds_type": 2,
            "bounds_align": 0, "bounds": {"x": 640.0, "y": 360.0}, "pos": {"x": 0.0, "y": 0.0},
            "scale": {"x": 1.0, "y": 1.0}}
    scene = {"id": "scene", "versioned_id": "scene", "name": SCENE,
             "settings": {"id_counter": 1, "custom_size": False, "items": [item]}}
    (base / "basic/scenes/Test.json").write_text(json.dumps({
        "name": "Test", "current_scene": SCENE, "current_program_scene": SCENE, "scene_order": [{"name": SCENE}],
        "sources": [media, scene], "groups": [], "transitions": [], "current_transition": "Cut",
        "transition_duration": 300, "saved_projectors": [], "modules": {}}))


def until(answer, seconds, what, pause=0.25):
    """Polls until `answer` returns a value, and returns that value."""
    deadline = time.monotonic() + timeout(seconds)
    while time.monotonic() < deadline:
        try:
            if result := answer():
                return result
        except OSError:
            pass  # OBS is not listening yet.
        time.sleep(pause)
    raise SystemExit(f"{what} within {seconds} s")


@contextlib.contextmanager
def running(media, profile="", service=None):
    """Runs OBS with a Media Source of these settings, and yields its Remote.

    profile: sections that are added to the profile; service: the settings of a custom RTMP server."""
    with tempfile.TemporaryDirectory(prefix="vidicon-obs.", ignore_cleanup_errors=True) as home:
        home = pathlib.Path(home)
        port = free_port()
        write_configuration(home, port, media, profile, service)
        (home / "run").mkdir(mode=0o700)
        read, write = os.pipe()
        display = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
                                   pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")}
        environment.update(
            DISPLAY=":" + os.read(read, 16).decode().strip(), HOME=str(home), XDG_CONFIG_HOME=str(home),
            XDG_CACHE_HOME=str(home), XDG_RUNTIME_DIR=str(home / "run"), LIBGL_ALWAYS_SOFTWARE="1", QT_QPA_PLATFORM="xcb",
            LC_ALL="C.UTF-8", https_proxy="http://127.0.0.1:9")  # Its update check fails at once.
        with open(home / "log", "w+") as log:
            obs = subprocess.Popen(["obs", "--multi", "--profile", "Test", "--collection", "Test", "--scene", SCENE],
                                   env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            try:
                remote = until(lambda: Remote(port), 60, "OBS did not come up")
                until(lambda: remote.ask("GetSceneItemList", sceneName=SCENE), 30, "OBS did not load its scene")
                yield remote
            except BaseException:
                log.seek(0)
                sys.stderr.write(log.read()[-3000:])
                raise
            finally:
                obs.send_signal(signal.SIGINT)
                try:
                    obs.wait(5)
                except subprocess.TimeoutExpired:
                    obs.kill()
                    obs.wait()
                display.terminate()
                display.wait()
