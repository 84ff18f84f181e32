"""Plays a stream by RTSP over UDP at one address of this machine, and prints as JSON, for each track, where its first RTP and RTCP came
from, and the number and time of its first packet as they were announced and as they came.

usage: first_packets.py ADDRESS RTSP-PORT
"""
import json
import re
import socket
import sys


def main():
    address, port = sys.argv[1], int(sys.argv[2])
    url = f"rtsp://[{address}]:{port}/live" if ":" in address else f"rtsp://{address}:{port}/live"
    connection = socket.create_connection((address, port), 10)
    stream = connection.makefile("rb")
    session, number = [], 0

    def ask(method, target, *fields):
        nonlocal number
        number += 1
        connection.sendall("\r\n".join([f"{method} {target} RTSP/1.0", f"CSeq: {number}", *session, *fields, "", ""]).encode())
        status = int(stream.readline().split()[1])
        answered = {}
        while line := stream.readline().strip().decode():
            name, _, value = line.partition(":")
            answered[name.lower()] = value.strip()
        return status, answered, stream.read(int(answered.get("content-length", 0))).decode()

    tracks = []
    controls = re.findall(r"a=control:(trackID=\d+)", ask("DESCRIBE", url, "Accept: application/sdp")[2])
    for control in controls:
        pair = []
        for _ in range(2):
            receiver = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
            receiver.bind(("::" if ":" in address else "0.0.0.0", 0))
            receiver.settimeout(20)
            pair.append(receiver)
        ports = "-".join(str(receiver.getsockname()[1]) for receiver in pair)
        _, answered, _ = ask("SETUP", f"{url}/{control}", f"Transport: RTP/AVP;unicast;client_port={ports}")
        session[:] = ["Session: " + answered["session"].split(";")[0]]
        tracks.append((control, pair))
    status, answered, _ = ask("PLAY", url)
    seen = []
    for control, (rtp, rtcp) in tracks:
        packet, source = rtp.recvfrom(2048)
        announced = re.search(rf"{control};seq=(\d+);rtptime=(\d+)", answered["rtp-info"])
        seen.append({
            "sources": [source[0], rtcp.recvfrom(2048)[1][0]],
            "announced": [int(value) for value in announced.groups()],
            "first": [int.from_bytes(packet[2:4], "big"), int.from_bytes(packet[4:8], "big")]})
    ask("TEARDOWN", url)
    print(json.dumps({"status": status, "tracks": seen}))


main()
