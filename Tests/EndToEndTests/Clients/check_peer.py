#!/usr/bin/env python3
"""A server for `vidicon check`, healthy or with one planted fault; prints "ready" and the arguments of the check once it serves.

usage: check_peer.py FOLDER PORT,PORT PEER [OPTION...]

The ports are free; files are written to the folder. Ends with its process group. VIDICON is the path of the program.
"""
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time

import check_http
import check_rtsp

FOLDER, PORTS, PEER, *OPTIONS = sys.argv[1:]
FIRST, SECOND = PORTS.split(",")
HOST = "127.0.0.1"
FFMPEG = ["ffmpeg", "-nostdin", "-v", "error", "-y"]
VIDEO = ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30"]
TONE = ["-f", "lavfi", "-i", "sine=1000:r=48000"]
H264 = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-g", "30"]
AAC = ["-c:a", "aac", "-ac", "2"]
LIMIT = 120
STARTED = []


def has(option):
    return option in OPTIONS


def value(option, default=None):
    """The text behind `option=`."""
    return next((text.split("=", 1)[1] for text in OPTIONS if text.startswith(option + "=")), default)


def start(command, **options):
    STARTED.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, **options))
    return STARTED[-1]


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end or any(process.poll() is not None for process in STARTED):
            sys.exit("a program of the peer has ended, or is not ready in time")
        time.sleep(0.05)


def listens(port):
    """Whether a program listens there, without a connection, which some servers have one of only."""
    number = f":{int(port):04X}"
    with open("/proc/net/tcp") as table, open("/proc/net/tcp6") as other:
        rows = [line.split() for line in list(table) + list(other)]
    return any(row[1].endswith(number) and row[3] == "0A" for row in rows)


def text(path):
    """The text of a file; empty where there is none."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def certificate():
    """A certificate for localhost and its key."""
    paths = [os.path.join(FOLDER, name) for name in ("cert.pem", "key.pem")]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:" + value("name", "localhost"), "-keyout", paths[1], "-out", paths[0]]
    subprocess.run(command + ["-days", "2"], check=True, stderr=subprocess.DEVNULL)
    if has("expired"):
        # openssl req has no dates before version 3.4: a certificate authority of one certificate has.
        with open(os.path.join(FOLDER, "ca.cnf"), "w") as file:
            file.write(
                f"[ca]\ndefault_ca=d\n[d]\nnew_certs_dir={FOLDER}\ndatabase={FOLDER}/index\nserial={FOLDER}/serial\n"
                f"default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:localhost\n")
        open(os.path.join(FOLDER, "index"), "w").close()
        with open(os.path.join(FOLDER, "serial"), "w") as file:
            file.write("01\n")
        request = os.path.join(FOLDER, "request.pem")
        subprocess.run(["openssl", "req", "-new", "-key", paths[1], "-subj", "/CN=localhost", "-out", request], check=True)
        command = ["openssl", "ca", "-batch", "-config", os.path.join(FOLDER, "ca.cnf"), "-selfsign", "-keyfile", paths[1]]
        command += ["-in", request, "-out", paths[0], "-startdate", "20240101000000Z", "-enddate", "20250101000000Z"]
        subprocess.run(command + ["-extensions", "e", "-notext"], check=True, stderr=subprocess.DEVNULL)
    return paths


def live_inputs():
    """Inputs of ffmpeg in real time."""
    return ["-re"] + VIDEO + (["-re"] + TONE if has("audio") else [])


def audio_encoder():
    return AAC if has("audio") else []


def write_hls():
    """HLS of ffmpeg in the folder, as it goes on or as a whole; returns the process."""
    inputs = VIDEO + (TONE if has("audio") else [])
    encoders = H264 + audio_encoder()
    if has("open-segments"):
        encoders += ["-g", "75"]
    options = ["-f", "hls", "-hls_time", value("segment", "1")]
    flags = ["split_by_time"] if has("open-segments") else []
    if has("fmp4"):
        options += ["-hls_segment_type", "fmp4"]
    playlist = os.path.join(FOLDER, "live.m3u8")
    if has("variants"):
        # ffmpeg lists no variant whose bitrate is not set.
        encoders += ["-b:v", "400k"]
        options += ["-master_pl_name", "live.m3u8"]
        playlist = os.path.join(FOLDER, "media.m3u8")
    if has("whole"):
        command = FFMPEG + inputs + encoders + ["-t", "12", "-hls_playlist_type", "vod"] + options + [playlist]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        return None
    if has("event"):
        options += ["-hls_playlist_type", "event"]
    else:
        flags.append("delete_segments")
    if flags:
        options += ["-hls_flags", "+".join(flags)]
    writer = start(FFMPEG + live_inputs() + encoders + options + [playlist])
    wait_until(lambda: text(playlist).count("#EXTINF") >= 4)
    return writer


def publish(url, video=H264):
    start(FFMPEG + live_inputs() + video + audio_encoder() + ["-f", "flv", url])


def source_file():
    """A file, which VLC repeats: of H.264, with AAC where it is asked for, or of JPEG images."""
    path = os.path.join(FOLDER, "source.ts")
    if OPTIONS[0] == "images":
        path = os.path.join(FOLDER, "source.avi")
        subprocess.run(FFMPEG + VIDEO + ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-t", "40", path], check=True)
        return path
    inputs = VIDEO + (TONE if has("audio") else [])
    subprocess.run(FFMPEG + inputs + H264 + audio_encoder() + ["-t", "40", path], check=True)
    return path


def login():
    """The user and password of a URL, as the options say."""
    return {"none": "", "wrong": "viewer:wr0ng@"}.get(value("password"), "viewer:s3cret@") if value("login") else ""


def rtsp():
    tls = certificate() if has("tls") else None
    schemes = tuple(value("login").split("+")) if value("login") else ()
    server = check_rtsp.Server(value("fault"), has("audio"), schemes, tls)
    host = value("host", "localhost" if tls else HOST)
    scheme = value("scheme", "rtsps" if tls else "rtsp")
    port = FIRST if value("port") == "closed" else server.port
    return f"{scheme}://{login()}{host}:{port}/{value('path', 'live')}{value('query', '')}"


def http_files():
    tls = certificate() if has("tls") else None
    writer = write_hls()
    if value("fault") == "stopped":
        writer.send_signal(signal.SIGSTOP)
    port = check_http.serve(check_http.files(FOLDER, value("fault")), tls)
    scheme, host = value("scheme", "https" if tls else "http"), "localhost" if tls else HOST
    return f"{scheme}://{host}:{port}/{value('path', 'live.m3u8')}{value('query', '')}"


def images():
    return f"http://{HOST}:{check_http.serve(check_http.images(value('fault')))}/mjpeg"


def whep():
    return f"http://{HOST}:{check_http.serve(check_http.whep(value('fault')))}/live/whep"


def mediamtx():
    return {"rtsp": rtsp, "hls": http_files, "whep": whep}[OPTIONS[0]]()


def gstreamer():
    start(["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "check_gst.py"), FIRST] + [
        option for option in OPTIONS if option != "tls"] + (["tls"] + certificate() if has("tls") else []))
    wait_until(lambda: listens(FIRST))
    user = "viewer:s3cret@" if has("digest") else ""
    return f"rtsps://{user}localhost:{FIRST}/live?insecure=1" if has("tls") else f"rtsp://{user}{HOST}:{FIRST}/live"


def nginx():
    """nginx as a web server of a folder, or of another server's images, or with its RTMP module, that ffmpeg publishes to."""
    root, is_rtmp = os.path.join(FOLDER, "nginx"), PEER == "nginx-rtmp"
    os.mkdir(root)
    if not is_rtmp and not has("images"):
        write_hls()
    lines = ["daemon off; master_process off; worker_processes 1;", f"pid {root}/pid; error_log {root}/errors info;"]
    if is_rtmp:
        lines.append("load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;")
    lines.append("events { worker_connections 64; }")
    if is_rtmp:
        lines.append(f"rtmp {{ server {{ listen {FIRST}; application app {{ live on; wait_key on;")
        lines.append(f"hls on; hls_path {FOLDER}; hls_fragment 1s; }} }} }}")
    folders = [f"{name}_temp_path {root}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]
    lines += ["http { include /etc/nginx/mime.types; access_log off;"] + folders + ["server {"]
    if has("tls"):
        chain, key = certificate()
        lines.append(f"listen {SECOND} ssl http2; ssl_certificate {chain}; ssl_certificate_key {key};")
    else:
        lines.append(f"listen {SECOND};")
    if value("login"):
        users = os.path.join(root, "users")
        with open(users, "w") as file:
            file.write("viewer:{PLAIN}s3cret\n")
        lines.append(f"auth_basic peer; auth_basic_user_file {users};")
    if has("images"):
        stream = check_http.serve(check_http.images(None))
        lines.append(f"location / {{ proxy_pass http://{HOST}:{stream}; proxy_buffering off; }} }} }}")
    else:
        lines.append(f"location / {{ root {FOLDER}; }} }} }}")
    with open(os.path.join(root, "conf"), "w") as file:
        file.write("\n".join(lines) + "\n")
    start(["nginx", "-p", root, "-c", os.path.join(root, "conf")])
    wait_until(lambda: listens(SECOND))
    if not is_rtmp:
        scheme, host = ("https", "localhost") if has("tls") else ("http", HOST)
        return f"{scheme}://{login()}{host}:{SECOND}/{'mjpeg' if has('images') else 'live.m3u8'}{value('query', '')}"
    video = H264
    if has("b-frames"):
        video = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2", "-b_strategy", "0", "-g", "30"]
    elif has("high"):
        video = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "0", "-g", "60"]
    publish(f"rtmp://{HOST}:{FIRST}/app/live", video)
    wait_until(lambda: "publish: name='live'" in text(f"{root}/errors"))
    if has("hls"):
        wait_until(lambda: text(f"{FOLDER}/live.m3u8").count("#EXTINF") >= 3)
        return f"http://{HOST}:{SECOND}/live.m3u8"
    return f"rtmp://{HOST}:{FIRST}/{value('app', 'app')}/{value('name', 'live')}"


def ffmpeg():
    """ffmpeg as a server of one viewer, and its HLS."""
    if OPTIONS[0] == "rtmp":
        url, output = f"rtmp://{HOST}:{FIRST}/app/live", ["-listen", "1", "-f", "flv"]
        start(FFMPEG + live_inputs() + H264 + audio_encoder() + output + [url])
    elif OPTIONS[0] == "images":
        url = f"http://{HOST}:{FIRST}/mjpeg"
        start(FFMPEG + ["-re"] + VIDEO + ["-pix_fmt", "yuvj420p", "-listen", "1", "-content_type",
                                          "multipart/x-mixed-replace;boundary=ffmpeg", "-f", "mpjpeg", url])
    elif OPTIONS[0] == "ts":
        url = f"http://{HOST}:{FIRST}/live.ts"
        output = ["-listen", "1", "-content_type", "video/mp2t", "-f", "mpegts"]
        start(FFMPEG + live_inputs() + H264 + audio_encoder() + output + [url])
    else:
        return http_files()
    wait_until(lambda: listens(FIRST))
    return url


def vlc():
    chain = {
        "rtsp": f"#rtp{{sdp=rtsp://{HOST}:{FIRST}/live}}",
        "images": f"#std{{access=http{{mime=multipart/x-mixed-replace;boundary="
        f"7b3cc56e5f51db803f790dad720ed50a}},mux=mpjpeg,dst={HOST}:{FIRST}/mjpeg}}",
        "hls": f"#std{{access=livehttp{{seglen=1,delsegs=true,numsegs=6,index={FOLDER}/live.m3u8,"
        f"index-url=live-########.ts}},mux=ts{{use-key-frames}},dst={FOLDER}/live-########.ts}}",
        "ts": f"#std{{access=http,mux=ts,dst={HOST}:{FIRST}/live.ts}}",
    }[OPTIONS[0]]
    os.chmod(FOLDER, 0o777)
    source = source_file()
    command = ["cvlc", "--intf", "dummy", "--no-color", "--quiet", "--loop", source, "--sout", chain, "--sout-keep"]
    if os.getuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={FOLDER}"] + command
    start(command, stderr=subprocess.DEVNULL)
    if OPTIONS[0] == "hls":
        playlist = os.path.join(FOLDER, "live.m3u8")
        wait_until(lambda: text(playlist).count("#EXTINF") >= 3)
        return f"http://{HOST}:{file_server()}/live.m3u8"
    wait_until(lambda: listens(FIRST))
    path = {"images": "mjpeg", "ts": "live.ts"}.get(OPTIONS[0], "live")
    return f"{'rtsp' if OPTIONS[0] == 'rtsp' else 'http'}://{HOST}:{FIRST}/{path}"


def file_server():
    """Python's file server, which knows nothing of HLS."""
    start([sys.executable, "-m", "http.server", SECOND, "--bind", HOST, "--directory", FOLDER],
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: listens(SECOND))
    return SECOND


def files():
    if value("media"):
        film = os.path.join(FOLDER, f"film.{value('media')}")
        subprocess.run(FFMPEG + VIDEO + TONE + H264 + AAC + ["-t", "12", film], check=True, stdin=subprocess.DEVNULL)
        return f"http://{HOST}:{file_server()}/film.{value('media')}"
    write_hls()
    return f"http://{HOST}:{file_server()}/live.m3u8"


def vidicon():
    path = {"rtsp": "live", "rtmp": "live/live", "hls": "live/live.m3u8", "images": "live/mjpeg", "whep": "live/whep"}[OPTIONS[0]]
    port = {"rtsp": "--rtsp-port", "rtmp": "--rtmp-port"}.get(OPTIONS[0], "--http-port")
    command = [os.environ["VIDICON"], "serve", "--no-discovery", "--webrtc-port", "0", "--source", "plasma", "--audio", "tone"]
    command += ["--size", "320x180", "--fps", "15", "--bitrate", "300k", port, FIRST]
    for other in ("--rtsp-port", "--http-port"):
        command += [] if other == port else [other, "0"]
    start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: listens(FIRST))
    scheme = OPTIONS[0] if OPTIONS[0] in ("rtsp", "rtmp") else "http"
    return f"{scheme}://{HOST}:{FIRST}/{path}"


def machine():
    """Arguments, and variables before them, for a check of this machine whose configuration has a fault."""
    fault, arguments = value("fault"), []
    arguments += ["--http-port", "0", "--webrtc-port", "0", "--no-discovery"]
    ports = ["--rtsp-port", SECOND if value("port") == "free" else "0"]
    source, path = "bars", os.path.join(FOLDER, "recordings")

    def write(name, content, mode=0o600):
        path = os.path.join(FOLDER, name)
        with open(path, "w") as file:
            file.write(content)
        os.chmod(path, mode)
        return path
    if fault == "taken-port":
        threading.Thread(target=socket.create_server((HOST, int(FIRST))).accept, daemon=True).start()
        ports = ["--rtsp-port", FIRST]
    elif fault == "camera":
        source = "v4l2:/dev/video99"
    elif fault == "address":
        arguments += ["--bind", "192.0.2.77"]
    elif fault == "screen":
        arguments, source = ["DISPLAY="] + arguments, "screen:"
    elif fault == "encoder":
        arguments += ["--encoder", "h264_none"]
    elif fault == "models":
        folder = os.path.join(FOLDER, "models")
        os.mkdir(folder)
        arguments = [f"VIDICON_MODELS={folder}"] + arguments
    elif fault == "no-space":
        os.mkdir(path)
        arguments += ["--keep-free", "900T"]
    if has("faces"):
        arguments += ["--faces", "track"]
    if has("record"):
        arguments += ["--record", os.path.join(path, "%Y.mp4")]
        if has("folder"):
            os.makedirs(path, exist_ok=True)
    if has("tls"):
        chain, key = certificate()
        arguments += ["--https-port", "0", "--tls-cert", chain, "--tls-key", key]
    if value("key"):
        arguments += ["--config", write("vidicon.yaml", f"{value('key')}: 0\n")]
    if value("mode"):
        streams = "streams:\n  - name: live\n    source: bars\n    size: 320x180\n    push: rtmp://192.0.2.1/app/key\n"
        return shlex.join(arguments + ports + ["--config", write("vidicon.yaml", streams, int(value("mode"), 8))])
    return shlex.join(arguments + ports + ["--source", source, "--size", "320x180"])


PEERS = {
    "mediamtx": mediamtx, "gstreamer": gstreamer, "nginx": nginx, "nginx-rtmp": nginx, "ffmpeg": ffmpeg, "vlc": vlc,
    "files": files, "vidicon": vidicon, "rtsp": rtsp, "http": http_files, "images": images, "whep": whep,
    "machine": machine,
}
print("ready", PEERS[PEER](), flush=True)
threading.Event().wait()
