"""Real browsers without a screen, driven with Python's standard library only.

    with open_browser("chromium") as browser:      # over chromedriver: W3C WebDriver, HTTP and JSON
    with open_browser("firefox") as browser:       # over Marionette, which Firefox has built in: JSON on a socket
        browser.go("http://…")
        browser.run("return document.title")                        # a script that returns
        browser.until("return document.title === 'a'", seconds=5)   # a script that becomes true
        browser.screenshot("a.png")

Neither browser connects to anything but this machine. Its processes are ended and its profile is removed on exit.
"""
import base64
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# Factor of the timeouts, as that of MachineShare.timeout.
FACTOR = int(os.environ.get("VIDICON_TEST_TIMEOUT_FACTOR", "3"))


def timeout(seconds):
    """a timeout for one on a machine without other work, as MachineShare.timeout"""
    return max(seconds * FACTOR, 0 if os.environ.get("VIDICON_TEST_TIMING") == "1" else 300)


SCRIPT_SECONDS = timeout(30)
# Text of a page, and the state of its video, for the message of a failure.
STATE = """
const video = document.querySelector("video");
const state = video && { ready: video.readyState, paused: video.paused, time: video.currentTime, error: video.error?.message };
return JSON.stringify({ text: document.body.innerText.slice(0, 1500), video: state });
"""
# Has a page record the methods of its requests, in window.methods.
RECORD_METHODS = """
const real = window.fetch;
window.methods = [];
window.fetch = (url, options) => { if (options?.method) methods.push(options.method); return real(url, options); };
"""


class Failure(Exception):
    """the browser refused a command, or did not answer"""


def free_port():
    """A port for a program that must be given one: below those that the kernel gives out, and those of Harness/FreePort.swift."""
    for _ in range(1000):
        port = random.randrange(10_000, 20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
                return port
            except OSError:
                pass
    raise Failure("no port is free")


def wait_for_segments(url):
    """Waits while a stream's playlist is refused for want of segments, which a slow machine may cause: Chromium reports that."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + timeout(40)
    while True:
        try:
            return opener.open(url + "/playlist.m3u8", timeout=SCRIPT_SECONDS).close()
        except urllib.error.HTTPError as error:
            if error.code != 503 or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def open_browser(name, gesture_for_audio=False, dark=False, names=(), webrtc=False, camera=False, local_names=(), own_addresses=False,
                 warns=False):
    """
    gesture_for_audio: block autoplay with audio until a user gesture, as browsers do by default
    dark: report that the user prefers dark colors
    names: names of /etc/hosts that Chromium may look up; no others are
    local_names: names that are this machine's for Chromium, though not of the loopback interface as "localhost" is
    webrtc: connect over the loopback interface too, which browsers do not by themselves
    camera: have a generated camera and microphone, or this number of cameras (Chromium), and permit every page to use them; "denied":
        permit it to none (Chromium)
    own_addresses: offer this machine's addresses for WebRTC instead of names of multicast DNS, which Chromium waits for without end in a
        network without IPv4
    warns: show a warning in place of a page whose certificate it does not know, as browsers do by default (Chromium)
    """
    if name == "chromium":
        return Chromium(gesture_for_audio, dark, names, webrtc, camera, local_names, own_addresses, warns)
    return Firefox(gesture_for_audio, dark, webrtc, camera)


class Browser:
    def __init__(self, name):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"vidicon-{name}."))
        self.process = None

    def start(self, arguments, environment=None):
        log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def go(self, url):
        self.ask("go", {"url": url})

    def run(self, script, *arguments):
        return self.ask("run", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """runs a script whose last argument is the function to call with the result"""
        return self.ask("run_async", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments, seconds=40):
        """polls a script until its result is true, and returns the result; seconds: on a machine without other work"""
        deadline = time.monotonic() + timeout(seconds)
        while not (result := self.run(script, *arguments)):
            if time.monotonic() > deadline:
                raise Failure(f"not within {seconds} s: {script}\nthe page: {self.run(STATE)}\nits errors: {self.complaints()}")
            time.sleep(0.1)
        return result

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.ask("screenshot", None)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.quit()
            self.process.wait(10)
        except (Failure, OSError, subprocess.TimeoutExpired):
            pass
        try:
            # Kills the process group, since a browser has several processes.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Chromium(Browser):
    COMMANDS = {"go": "url", "run": "execute/sync", "run_async": "execute/async", "screenshot": "screenshot",
                "devtools": "goog/cdp/execute", "log": "se/log"}

    def __init__(self, gesture_for_audio, dark, names, webrtc, camera=False, local_names=(), own_addresses=False, warns=False):
        super().__init__("chromium")
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.start(["chromedriver", f"--port={port}"], {**os.environ, "HOME": str(self.folder)})
        try:
            self.wait_for_driver()
            arguments = [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--hide-scrollbars", "--force-color-profile=srgb", "--disable-background-networking",
                "--disable-component-update", "--disable-sync", "--host-resolver-rules=" + ", ".join(
                    [*(f"MAP {name} 127.0.0.1" for name in local_names), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", *(f"EXCLUDE {host}" for host in names)]),
                f"--user-data-dir={self.folder}/profile"]
            if webrtc:
                arguments.append("--allow-loopback-in-peer-connection")
            if own_addresses:
                arguments.append("--disable-features=WebRtcHideLocalIpsWithMdns")
            if camera:
                permission = "--deny-permission-prompts" if camera == "denied" else "--use-fake-ui-for-media-stream"
                count = camera if type(camera) is int else 1
                arguments += [f"--use-fake-device-for-media-stream=device-count={count}", permission]
            if not gesture_for_audio:
                arguments.append("--autoplay-policy=no-user-gesture-required")
            wanted = {"browserName": "chrome", "acceptInsecureCerts": not warns, "timeouts": {"script": SCRIPT_SECONDS * 1000},
                      "goog:loggingPrefs": {"browser": "ALL"},
                      "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}
            session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = "/session/" + session["sessionId"]
            self.set_dark(dark)
        except BaseException:
            self.session = None
            self.__exit__()
            raise

    def wait_for_driver(self):
        deadline = time.monotonic() + timeout(20)
        while True:
            try:
                return self.call("GET", "/status")
            except OSError:
                if time.monotonic() > deadline:
                    raise Failure("chromedriver does not come up") from None
                time.sleep(0.05)

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"}, method=method)
        try:
            with self.opener.open(request, timeout=SCRIPT_SECONDS + 30) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise Failure(json.load(error)["value"]["message"]) from None

    def ask(self, what, body):
        return self.call("GET" if body is None else "POST", f"{self.session}/{self.COMMANDS[what]}", body)

    def devtools(self, command, **parameters):
        """a command of the DevTools protocol"""
        return self.ask("devtools", {"cmd": command, "params": parameters})

    def set_screen(self, width, height, phone=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
                      mobile=phone)
        self.devtools("Emulation.setTouchEmulationEnabled", enabled=phone)

    def set_dark(self, dark):
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def press(self, selector):
        """clicks an element, which counts as a user gesture"""
        element = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"{self.session}/element/{next(iter(element.values()))}/click", {})

    def complaints(self):
        """warnings and errors on the console since the last call"""
        return [entry["message"] for entry in self.ask("log", {"type": "browser"}) if entry["level"] in ("WARNING", "SEVERE")]

    def quit(self):
        if self.session:
            self.call("DELETE", self.session)
        self.process.terminate()


class Firefox(Browser):
    COMMANDS = {"go": "WebDriver:Navigate", "run": "WebDriver:ExecuteScript", "run_async": "WebDriver:ExecuteAsyncScript",
                "screenshot": "WebDriver:TakeScreenshot"}

    def __init__(self, gesture_for_audio, dark, webrtc, camera=False):
        super().__init__("firefox")
        profile = self.folder / "profile"
        profile.mkdir()
        preferences = {
            "marionette.port": 0, "ui.systemUsesDarkTheme": int(dark), "media.autoplay.default": int(gesture_for_audio),
            "media.autoplay.blocking_policy": 0, "app.update.enabled": False, "app.normandy.enabled": False,
            "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
            "extensions.getAddons.cache.enabled": False, "media.gmp-manager.url": "data:,",
            "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
            "media.peerconnection.ice.loopback": webrtc, "media.peerconnection.ice.obfuscate_host_addresses": not webrtc,
            "media.navigator.streams.fake": bool(camera), "media.navigator.permission.disabled": bool(camera),
            "services.settings.server": "data:,#", "toolkit.telemetry.enabled": False}
        (profile / "user.js").write_text(
            "".join(f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in preferences.items()))
        environment = {**os.environ, "HOME": str(self.folder), "MOZ_CRASHREPORTER_DISABLE": "1"}
        environment.pop("DISPLAY", None)
        self.start(["firefox-esr", "--headless", "--no-remote", "--marionette", "--profile", str(profile), "about:blank"],
                   environment)
        self.count = 0
        try:
            self.connection = socket.create_connection(("127.0.0.1", self.wait_for_port(profile)), timeout=SCRIPT_SECONDS + 30)
            self.stream = self.connection.makefile("rb")
            self.receive()  # The greeting.
            self.call("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {
                "acceptInsecureCerts": True, "timeouts": {"script": SCRIPT_SECONDS * 1000}}}})
        except BaseException:
            self.__exit__()
            raise

    def wait_for_port(self, profile):
        """Waits for the file in which Firefox stores the port that it listens on."""
        deadline = time.monotonic() + timeout(30)
        while True:
            try:
                return int((profile / "MarionetteActivePort").read_text())
            except (OSError, ValueError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise Failure("Firefox does not come up") from None
                time.sleep(0.1)

    def receive(self):
        """a message: its length in decimal digits, a colon, and as many bytes of JSON"""
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise Failure("Firefox closed the connection")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def call(self, command, parameters):
        self.count += 1
        message = json.dumps([0, self.count, command, parameters]).encode()
        self.connection.sendall(b"%d:%s" % (len(message), message))
        while True:
            _, identifier, error, result = self.receive()
            if identifier == self.count:
                break
        if error:
            raise Failure(error.get("message"))
        return result["value"] if isinstance(result, dict) and set(result) == {"value"} else result

    def ask(self, what, body):
        return self.call(self.COMMANDS[what], {"full": False} if body is None else body)

    def complaints(self):
        return []

    def quit(self):
        self.call("Marionette:Quit", {"flags": ["eForceQuit"]})
