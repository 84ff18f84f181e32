#!/usr/bin/env python3
"""Presses keys of `vidicon serve` on a pseudoterminal, and prints as JSON its output and the final terminal mode.

usage: keys.py quit|interrupt|kill|crash|background|control|start|publish:FILE VIDICON OPTION...

quit presses m, m, space, space, s and q; interrupt m and Ctrl-C; kill sends SIGQUIT, crash SIGSEGV; background starts it as a
shell starts a job in the background, where it must not be stopped, and gives it the terminal later; control presses c, and
prints as "shown" what it shows; start prints so what is shown at the start; publish has ffmpeg publish with the server and stream key that are shown, stores in FILE what
an RTSP player gets of it, and prints the key.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.request

how, _, file = sys.argv[1].partition(":")
command = sys.argv[2:]
LIMIT = 120
FLAGS = termios.ICANON | termios.ECHO


def is_raw(terminal):
    return termios.tcgetattr(terminal)[3] & FLAGS == 0


class Session:
    """The program on a pseudoterminal, with its collected output."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        # A QR code fits.
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 160, 0, 0))
        self.text = b""
        self.start = time.monotonic()
        self.leader = os.fork()
        if self.leader == 0:
            os.setsid()
            os.close(self.master)
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for number in range(3):
                os.dup2(self.slave, number)
            self.be_shell()

    def be_shell(self):
        # A shell: the leader of the session, with the program as a job in a process group of its own.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            if how != "background":
                os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            # A program started by a script in the background ignores them.
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            # Swift's interactive backtrace would wait for a key.
            os.execve(command[0], command, {**os.environ, "SWIFT_BACKTRACE": "enable=no"})
        try:
            os.setpgid(job, job)
        except OSError:
            pass
        os.write(2, b"<job %d>" % job)

        def foreground(*_):
            os.tcsetpgrp(0, job)
            os.kill(-job, signal.SIGCONT)
        signal.signal(signal.SIGUSR1, foreground)
        while True:
            try:
                _, status = os.waitpid(job, os.WUNTRACED)
            except InterruptedError:
                continue
            if os.WIFSTOPPED(status):
                os.write(2, b"<stopped %d>" % os.WSTOPSIG(status))
                continue
            break
        os.tcsetpgrp(0, os.getpgrp())
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        os.write(2, b"<ended %d>" % code)
        os._exit(0)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.text += os.read(self.master, 65536)
            except OSError:
                return False
        return True

    def until(self, condition, what):
        while not condition():
            if time.monotonic() - self.start > LIMIT:
                raise SystemExit(f"not within {LIMIT} s: {what}; it said {self.text.decode(errors='replace')[-2000:]}")
            self.read(0.05)

    def saw(self, text, count=1):
        self.until(lambda: self.text.count(text.encode()) >= count, text)

    def press(self, key, answer):
        seen = len(self.text)
        os.write(self.master, key)
        self.until(lambda: answer.encode() in self.text[seen:], f"{answer} after {key}")

    def shown(self, pattern):
        """Waits for a pattern in the output; returns the matches of its groups."""
        expression = re.compile(pattern.encode())
        self.until(lambda: expression.search(self.text), pattern)
        return [group.decode() for group in expression.search(self.text).groups()]

    def run(self, arguments):
        """Runs a program to its end, and reads the output meanwhile."""
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL)
        try:
            self.until(lambda: process.poll() is not None, arguments[0])
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            raise SystemExit(f"{arguments[0]} ended with {process.returncode}")

    def job(self):
        return int(self.text.split(b"<job ")[1].split(b">")[0])


def publish(session, file):
    """Publishes with the settings that are shown; returns the stream key."""
    server, key = session.shown(r"server (rtmp://[^\s\x1b]+) +stream key ([0-9A-Za-z_-]+)\s")
    page, = session.shown(r"Browser +(http://[^/\s\x1b]+)")
    player, = session.shown(r"(rtsp://[^\s\x1b]+)")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def passed_through():
        metrics = opener.open(f"{page}/metrics", timeout=10).read().decode()
        count = re.search(r"^vidicon_frames_passed_through_total\{[^}]*\} (\S+)", metrics, re.MULTILINE)
        return count and float(count[1]) > 60

    ffmpeg = ["ffmpeg", "-nostdin", "-v", "error"]
    video = ["-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-c:v", "libx264", "-preset", "ultrafast",
             "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-g", "30"]
    publisher = subprocess.Popen(ffmpeg + video + ["-f", "flv", f"{server}/{key}"], stdin=subprocess.DEVNULL)
    try:
        session.until(passed_through, "frames of the publisher")
        session.run(ffmpeg + ["-rtsp_transport", "tcp", "-i", player, "-t", "4", "-an", "-c", "copy", "-y", file])
    finally:
        publisher.kill()
        publisher.wait()
    return key


session = Session()
result = {}
try:
    session.saw("<job ")
    session.saw("Browser")
    if how == "background":
        result["rawInBackground"] = is_raw(session.slave)
        end = time.monotonic() + 2
        session.until(lambda: time.monotonic() > end, "a moment")
        os.kill(session.leader, signal.SIGUSR1)
    session.until(lambda: is_raw(session.slave), "keys are on")
    session.saw("s next source")
    if how in ("quit", "background"):
        session.press(b"m", "is mirrored")
        session.press(b"\x1b[Am", "is not mirrored")  # An arrow does nothing.
        session.press(b" ", "encoding is paused")
        session.press(b" ", "encoding continues")
        session.press(b"s", "plasma")
        os.write(session.master, b"q")
    elif how == "control":
        seen = len(session.text)
        session.press(b"c", "#control=")
        session.until(lambda: session.text[seen:].split(b"#control=")[1].count(b"\n") > 0, "the end of the address")
        result["shown"] = session.text[seen:].decode(errors="replace")
        os.write(session.master, b"q")
    elif how == "start":
        result["shown"] = session.text.decode(errors="replace")
        os.write(session.master, b"q")
    elif how == "publish":
        result["key"] = publish(session, file)
        os.write(session.master, b"q")
    elif how == "interrupt":
        session.press(b"m", "is mirrored")
        os.write(session.master, b"\x03")
    elif how == "kill":
        os.kill(session.job(), signal.SIGQUIT)
    elif how == "crash":
        os.kill(session.job(), signal.SIGSEGV)
    session.saw("<ended ")
finally:
    result["isRestored"] = termios.tcgetattr(session.slave)[3] & FLAGS == FLAGS
    result["stops"] = session.text.count(b"<stopped ")
    try:
        os.kill(session.job(), signal.SIGKILL)
    except (OSError, IndexError):
        pass
result["exit"] = int(session.text.split(b"<ended ")[1].split(b">")[0])
result["hints"] = session.text.count(b"s next source")
print(json.dumps(result))
