#!/usr/bin/env python3
"""Checks a server against its OpenAPI document, and prints the number of requests and the violations as JSON.

usage: api_check.py http://HOST:PORT NAME [--packages FOLDER]
       NAME is a stream's name without slashes; FOLDER is where scripts/setup has put the validators

Validates the document with openapi-spec-validator. Then requests each of its paths, validly and invalidly, and compares
the status, media type, required headers and body of each response with the document.
"""
import argparse
import json
import sys
import urllib.error
import urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("server")
parser.add_argument("name")
parser.add_argument("--packages")
options = parser.parse_args()
if options.packages:
    sys.path.insert(0, options.packages)

from jsonschema import Draft202012Validator, FormatChecker  # noqa: E402
from openapi_spec_validator import validate  # noqa: E402

class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())


def ask(path, headers=None):
    """status, header fields, and body; the first bytes only of a body without Content-Length"""
    request = urllib.request.Request(options.server + path, headers=headers or {})
    try:
        with OPENER.open(request, timeout=10) as answer:
            endless = answer.headers.get("Content-Length") is None
            return answer.status, answer.headers, answer.read(1000) if endless else answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def resolve(node):
    while "$ref" in node:
        found = document
        for key in node["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        node = found
    return node


def problems(template, status, headers, body):
    responses = document["paths"][template]["get"]["responses"]
    if str(status) not in responses:
        yield f"status {status} is not in the document: {body[:80]!r}"
        return
    response = resolve(responses[str(status)])
    for name, header in response.get("headers", {}).items():
        if resolve(header).get("required") and name not in headers:
            yield f"there is no {name}"
    content = response.get("content")
    if content is None:
        if body:
            yield "there is a body"
        return
    media_type = headers.get_content_type()
    if media_type not in content:
        yield f"{media_type} is not in the document"
        return
    schema = content[media_type]["schema"]
    if schema.get("format") == "binary":
        return
    value = json.loads(body) if media_type == "application/json" else body.decode()
    # The schemas refer to each other inside the document.
    whole = {**schema, "components": document["components"]}
    for error in Draft202012Validator(whole, format_checker=FormatChecker()).iter_errors(value):
        yield f"{error.json_path}: {error.message[:200]}"


document = json.loads(ask("/api/openapi.json")[2])
validate(document)

name = options.name
playlist = ask(f"/{name}/live.m3u8")[2].decode()
files = [line for line in playlist.splitlines() if line and not line.startswith("#")]
recording = json.loads(ask("/api/recordings")[2])["recordings"][0]["file"]
whole = {"Range": "bytes=0-9"}
requests = [
    ("/", "/", None, 200), ("/health", "/health", None, 200), ("/metrics", "/metrics", None, 200),
    ("/ca", "/ca", None, 404),
    ("/api/session", "/api/session", None, 200),
    ("/api/streams", "/api/streams", None, 200), ("/api/openapi.json", "/api/openapi.json", None, 200),
    ("/api/streams/{name}", f"/api/streams/{name}", None, 200), ("/api/streams/{name}", "/api/streams/none", None, 404),
    ("/api/streams/{name}", "/api/streams/%zz", None, 400),
    ("/api/qr.svg", "/api/qr.svg?text=http%3A%2F%2Fa%2Fb", None, 200), ("/api/qr.svg", "/api/qr.svg", None, 400),
    ("/api/qr.svg", "/api/qr.svg?text=" + 1025 * "a", None, 400),
    ("/{name}/publish", f"/{name}/publish", None, 200), ("/{name}/publish", "/none/publish", None, 404),
    ("/{name}", f"/{name}", None, 200), ("/{name}", "/none", None, 404), ("/{name}", "/%2e%2e", None, 400),
    ("/{name}", "/none", {"Accept": "text/html"}, 404),
    ("/{name}/snapshot.jpg", f"/{name}/snapshot.jpg", None, 200),
    ("/{name}/snapshot.jpg", f"/{name}/snapshot.jpg?width=160", None, 200),
    ("/{name}/snapshot.jpg", f"/{name}/snapshot.jpg?width=0", None, 400),
    ("/{name}/snapshot.jpg", "/none/snapshot.jpg", None, 404),
    ("/{name}/mjpeg", f"/{name}/mjpeg?fps=2&width=160", None, 200),
    ("/{name}/mjpeg", f"/{name}/mjpeg?fps=0", None, 400), ("/{name}/mjpeg", "/none/mjpeg", None, 404),
    ("/{name}/{file}", f"/{name}/index.m3u8", None, 200), ("/{name}/{file}", f"/{name}/playlist.m3u8", None, 200),
    ("/{name}/{file}", f"/{name}/live.m3u8?_HLS_skip=YES", None, 200),
    ("/{name}/{file}", f"/{name}/live.m3u8?_HLS_msn=99999", None, 400),
    ("/{name}/{file}", f"/{name}/live.m3u8?_HLS_part=1", None, 400),
    ("/{name}/{file}", f"/{name}/none.m4s", None, 404), ("/{name}/{file}", f"/{name}/{files[-1]}", None, 200),
    ("/{name}/{file}", f"/{name}/{files[-1].replace('.m4s', '.ts')}", None, 200),
    ("/{name}/{file}", f"/{name}/{files[-1]}", whole, 206),
    ("/{name}/{file}", f"/{name}/{files[-1]}", {"Range": "bytes=99999999-"}, 416),
    ("/{name}/{file}", f"/{name}/{files[-1]}", {"If-None-Match": "*"}, 304),
    ("/api/recordings", "/api/recordings", None, 200), ("/recordings/", "/recordings/", None, 200),
    ("/api/streams/{name}/recording", f"/api/streams/{name}/recording", None, 200),
    ("/api/streams/{name}/recording", "/api/streams/none/recording", None, 404),
    ("/api/devices", "/api/devices", None, 200),
    ("/api/streams/{name}/source", f"/api/streams/{name}/source", None, 200),
    ("/api/streams/{name}/source", "/api/streams/none/source", None, 404),
    ("/api/streams/{name}/pushes", f"/api/streams/{name}/pushes", None, 200),
    ("/api/streams/{name}/pushes", "/api/streams/none/pushes", None, 404),
    ("/api/streams/{name}/publisher", f"/api/streams/{name}/publisher", None, 404),
    ("/{name}/whep", f"/{name}/whep", None, 404),
    ("/api/streams/{name}/level", f"/api/streams/{name}/level", None, 200),
    ("/api/streams/{name}/effects", f"/api/streams/{name}/effects", None, 200),
    ("/api/streams/{name}/effects", "/api/streams/none/effects", None, 404),
    ("/api/streams/{name}/events", "/api/streams/none/events", None, 404),
    ("/recordings/{name}/{recording}", recording, None, 200), ("/recordings/{name}/{recording}", recording, whole, 206),
    ("/recordings/{name}/{recording}", f"/recordings/{name}/none.mp4", None, 404),
]
wrong = []
for template, path, headers, expected in requests:
    status, fields, body = ask(path, headers)
    found = list(problems(template, status, fields, body))
    if status != expected:
        found.append(f"status {status}, not {expected}")
    wrong += [f"{path}: {problem}" for problem in found]
untried = sorted({template for template, methods in document["paths"].items() if "get" in methods} - {template for template, *_ in requests})
print(json.dumps({"asked": len(requests), "wrong": wrong, "untried": untried}))
