#!/usr/bin/env python3
"""Opens connections that say nothing, and tells which of them the server has closed.

usage: idle_crowd.py PORT COUNT
       prints a line when all are open; at each line on standard input, how many of them are closed by now
"""
import resource
import selectors
import socket
import sys
import time

port, count = int(sys.argv[1]), int(sys.argv[2])
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
selector = selectors.DefaultSelector()
for number in range(count):
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.setblocking(False)
    selector.register(connection, selectors.EVENT_READ)
    if number % 2:
        time.sleep(0.001)  # The system keeps but some that the server has not taken yet.
print("open", flush=True)
closed = 0
for _ in sys.stdin:
    # Nothing is sent to who says nothing: what can be read is the end.
    while ready := selector.select(0):
        for key, _ in ready:
            selector.unregister(key.fileobj)
            key.fileobj.close()
            closed += 1
    print(closed, flush=True)
