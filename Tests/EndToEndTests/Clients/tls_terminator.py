"""Terminates TLS before a server, as a load balancer does, with the OpenSSL of Python.

Prints the server name of each handshake: "name HOST", and "failed" for one that fails.

usage: tls_terminator.py PORT TARGET_PORT CERTIFICATE KEY
"""

import socket
import ssl
import sys
import threading

port, target = int(sys.argv[1]), int(sys.argv[2])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[3], sys.argv[4])
context.sni_callback = lambda connection, name, _: print(f"name {name}", flush=True)


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client):
    try:
        secure = context.wrap_socket(client, server_side=True)
    except (OSError, ssl.SSLError):
        print("failed", flush=True)
        return
    server = socket.create_connection(("127.0.0.1", target))
    threading.Thread(target=copy, args=(server, secure), daemon=True).start()
    copy(secure, server)


listener = socket.create_server(("127.0.0.1", port))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
