#!/usr/bin/env python3
"""Plays the part of a service manager that keeps descriptors, as systemd does: service_manager.py --restart FILE COMMAND...

Starts COMMAND with NOTIFY_SOCKET and FDSTORE, sd_notify(3), and keeps the descriptors that it sends. Whenever FILE appears, ends it with
SIGTERM, or SIGKILL where the text of FILE is KILL, and starts it again, with what is kept as LISTEN_FDS, sd_listen_fds(3). FILE is
removed once the new run is ready; FILE.down exists from the end of one run until the next one is ready. SIGINT and SIGTERM end COMMAND,
whose status is that of this script. --report appends a line of JSON for each run: the names of its descriptors, the
seconds from the signal to its readiness, and the status of the run before.
"""
import argparse
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time

FIRST = 3  # SD_LISTEN_FDS_START
MAXIMUM = 16  # FileDescriptorStoreMax=


class Store:
    """Descriptors in the order in which they came."""

    def __init__(self):
        self.kept = []

    def add(self, name, descriptors):
        for descriptor in descriptors:
            # systemd compares with kcmp(2); an equal socket or file has the same inode of the same file system.
            if len(self.kept) >= MAXIMUM or any(os.path.sameopenfile(other, descriptor) for _, other in self.kept):
                os.close(descriptor)
            else:
                self.kept.append((name, descriptor))

    def remove(self, name):
        for other, descriptor in self.kept:
            if other == name:
                os.close(descriptor)
        self.kept = [(other, descriptor) for other, descriptor in self.kept if other != name]


def start(command, path, store):
    """Forks, since LISTEN_PID is the number of the process that becomes the program."""
    process = os.fork()
    if process:
        return process
    try:
        environment = dict(os.environ, NOTIFY_SOCKET=path, FDSTORE=str(MAXIMUM))
        if store.kept:
            # Above all numbers that are to be filled.
            base = FIRST + len(store.kept) + 64
            copies = []
            for index, (_, descriptor) in enumerate(store.kept):
                os.dup2(descriptor, base + index, inheritable=True)
                copies.append(base + index)
            for index, copy in enumerate(copies):
                os.dup2(copy, FIRST + index, inheritable=True)
                os.close(copy)
            environment.update(
                LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(copies)), LISTEN_FDNAMES=":".join(name for name, _ in store.kept))
        os.closerange(FIRST + len(store.kept), 1024)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"service_manager.py: {command[0]}: {error}", file=sys.stderr)
    os._exit(127)


class Manager:
    def __init__(self, options):
        self.options = options
        self.store = Store()
        self.ending = None
        self.folder = tempfile.TemporaryDirectory()
        self.path = self.folder.name + "/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)

    def read(self, seconds):
        """Reads the messages that come within a time; returns whether one says that the program is ready."""
        ready = False
        while select.select([self.socket], [], [], seconds)[0]:
            seconds = 0
            message, descriptors, _, _ = socket.recv_fds(self.socket, 4096, MAXIMUM)
            fields = dict(line.split("=", 1) for line in message.decode().splitlines() if "=" in line)
            ready = ready or fields.get("READY") == "1"
            if fields.get("FDSTORE") == "1":
                self.store.add(fields.get("FDNAME", "stored"), descriptors)
                descriptors = []
            if fields.get("FDSTOREREMOVE") == "1":
                self.store.remove(fields.get("FDNAME", "stored"))
            for descriptor in descriptors:
                os.close(descriptor)
        return ready

    def end(self, process, number):
        """Ends a run; its last messages are read before its end is noticed, as systemd does."""
        os.kill(process, number)
        while True:
            self.read(0.01)
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                self.read(0)
                return os.waitstatus_to_exitcode(status)

    def run(self):
        process = start(self.options.command, self.path, self.store)
        begin, status, is_ready = time.monotonic(), None, False
        names = []
        while True:
            if self.read(0.02) and not is_ready:
                is_ready = True
                if self.options.report:
                    with open(self.options.report, "a") as report:
                        report.write(json.dumps({"names": names, "seconds": time.monotonic() - begin, "status": status}) + "\n")
                # One that has appeared before the first run was ready still asks for another run.
                for file in (self.options.restart + ".down", self.options.restart) if status is not None else ():
                    os.remove(file)
            if self.ending is not None:
                return self.end(process, self.ending)
            ended, ended_status = os.waitpid(process, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(ended_status)
            if is_ready and os.path.exists(self.options.restart):
                begin = time.monotonic()
                with open(self.options.restart) as file:
                    is_crash = file.read() == "KILL"
                status = self.end(process, signal.SIGKILL if is_crash else signal.SIGTERM)
                open(self.options.restart + ".down", "w").close()
                names = [name for name, _ in self.store.kept]
                process, is_ready = start(self.options.command, self.path, self.store), False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--restart", required=True)
    parser.add_argument("--report")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    manager = Manager(parser.parse_args())

    def note(number, frame):
        manager.ending = number

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    status = manager.run()
    # 128 and the number of a signal, as shells say it.
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
