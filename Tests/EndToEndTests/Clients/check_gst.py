#!/usr/bin/env python3
"""GStreamer's RTSP server with a stream that it encodes for its viewers.

usage: check_gst.py PORT h264|h265 [audio] [few] [digest [tls CERTIFICATE KEY]]

With "few", eight frames a second of a packet or two.
"""
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

ENCODERS = {
    "h264": "openh264enc gop-size=30 bitrate=400000 ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=1",
    "h265": "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=30 bitrate=400 ! h265parse"
    " ! rtph265pay name=pay0 pt=96 config-interval=1",
}

Gst.init(None)
port, codec, *options = sys.argv[1:]
server = GstRtspServer.RTSPServer(address="127.0.0.1", service=port)
rate, encoder = 30, ENCODERS[codec]
if "few" in options:
    rate, encoder = 8, encoder.replace("gop-size=30 bitrate=400000", "gop-size=8 bitrate=60000")
launch = f"( videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate={rate}/1 ! {encoder}"
if "audio" in options:
    launch += " audiotestsrc is-live=true ! audio/x-raw,rate=48000,channels=2 ! voaacenc ! aacparse ! rtpmp4gpay name=pay1 pt=97"
factory = GstRtspServer.RTSPMediaFactory(launch=launch + " )", shared=True)
if "digest" in options:
    auth = GstRtspServer.RTSPAuth()
    if "tls" in options:
        certificate, key = options[options.index("tls") + 1:][:2]
        auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(certificate, key))
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "viewer")
    auth.add_digest("viewer", "s3cret", token)
    role = "viewer, media.factory.access=(boolean)true, media.factory.construct=(boolean)true"
    factory.add_role_from_structure(Gst.Structure.new_from_string(role))
    server.set_auth(auth)
server.get_mount_points().add_factory("/live", factory)
if server.attach(None) == 0:
    sys.exit("the port is not free")
GLib.MainLoop().run()
