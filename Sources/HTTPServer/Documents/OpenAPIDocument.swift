internal import Authentication
internal import Crypto

/// What the server answers, as an OpenAPI 3.1 document: for people, for programs, and for the tests, which hold the server
/// to it.
enum OpenAPIDocument {
  /// The value of `ETag`: another one for another document, whatever version it bears.
  static let etag = "\"\(hexadecimal(SHA256.hash(data: Array(Self.text.utf8)).prefix(12)))\""

  /// The document, JSON.
  static let text = #"""
    {
      "openapi": "3.1.0",
      "info": {
        "title": "Vidicon",
        "version": "1.2.0",
        "description": "A live network camera: its streams, pictures and numbers. HEAD is answered like GET, without \#
    the body. A stream's name may have slashes; they stand as they are in the path.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
      },
      "servers": [{"url": "/"}],
      "security": [{}, {"digest": []}, {"basic": []}],
      "paths": {
        "/": {
          "get": {
            "summary": "The list of streams as a web page",
            "responses": {
              "200": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            }
          }
        },
        "/health": {
          "get": {
            "summary": "Whether the server lives",
            "security": [],
            "responses": {"200": {"description": "It does.", "content": {"text/plain": {"schema": {"const": "ok\n"}}}}}
          }
        },
        "/metrics": {
          "get": {
            "summary": "Numbers for Prometheus",
            "responses": {
              "200": {
                "description": "The text format, version 0.0.4.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            }
          }
        },
        "/api/streams": {
          "get": {
            "summary": "All streams",
            "responses": {
              "200": {
                "description": "The streams, in the order of publication.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/StreamList"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            }
          }
        },
        "/api/streams/{name}": {
          "get": {
            "summary": "One stream",
            "responses": {
              "200": {
                "description": "The stream.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stream"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          },
          "patch": {
            "summary": "Changes a stream while it runs, all of what is asked or nothing; answers when that is done. Pages of \#
    other servers cannot ask this.",
            "requestBody": {
              "required": true,
              "description": "A merge patch (RFC 7396): what is left out stays, what is null goes back to its default.",
              "content": {
                "application/merge-patch+json": {"schema": {"$ref": "#/components/schemas/StreamChange"}},
                "application/json": {"schema": {"$ref": "#/components/schemas/StreamChange"}}
              }
            },
            "responses": {
              "200": {
                "description": "The stream as it is now.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stream"}}}
              },
              "400": {"$ref": "#/components/responses/Refused"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "408": {"$ref": "#/components/responses/Refused"},
              "409": {"$ref": "#/components/responses/Refused"},
              "413": {"$ref": "#/components/responses/Refused"},
              "415": {"$ref": "#/components/responses/Refused"},
              "501": {"$ref": "#/components/responses/NotImplemented"},
              "502": {"$ref": "#/components/responses/Refused"},
              "503": {"$ref": "#/components/responses/Unavailable"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          }
        },
        "/api/streams/{name}/source": {
          "get": {
            "summary": "Where a stream's picture and sound come from",
            "responses": {
              "200": {
                "description": "The sources.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Source"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "501": {"$ref": "#/components/responses/NotImplemented"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          },
          "put": {
            "summary": "Replaces a stream's sources while it runs; answers when the first picture or sound of the new ones \#
    is there. Files, addresses of other servers, standard input, and devices of a kind that the stream did not begin with are \#
    taken from this machine only, or with a password. Pages of other servers cannot ask this.",
            "requestBody": {
              "required": true,
              "description": "Either may be left out, and then stays.",
              "content": {
                "application/json": {
                  "schema": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": false,
                    "properties": {
                      "video": {"type": "string", "minLength": 1, "examples": ["v4l2:/dev/video0", "screen:", "plasma"]},
                      "audio": {"type": "string", "minLength": 1, "examples": ["mic:", "tone", "silence"]}
                    }
                  }
                }
              }
            },
            "responses": {
              "200": {
                "description": "The stream as it is now.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stream"}}}
              },
              "400": {"$ref": "#/components/responses/Refused"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "403": {"$ref": "#/components/responses/Refused"},
              "408": {"$ref": "#/components/responses/Refused"},
              "409": {"$ref": "#/components/responses/Refused"},
              "413": {"$ref": "#/components/responses/Refused"},
              "415": {"$ref": "#/components/responses/Refused"},
              "501": {"$ref": "#/components/responses/NotImplemented"},
              "502": {"$ref": "#/components/responses/Refused"},
              "503": {"$ref": "#/components/responses/Unavailable"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          }
        },
        "/api/streams/{name}/level": {
          "get": {
            "summary": "How loud a stream is now",
            "responses": {
              "200": {
                "description": "The level over the last tenth of a second.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Level"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "501": {"$ref": "#/components/responses/NotImplemented"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          }
        },
        "/api/devices": {
          "get": {
            "summary": "What the sources of streams can be chosen from",
            "responses": {
              "200": {
                "description": "Cameras, screens, windows and microphones, with their formats and controls.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/DeviceList"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "501": {"$ref": "#/components/responses/NotImplemented"},
              "503": {"$ref": "#/components/responses/Unavailable"}
            }
          }
        },
        "/api/streams/{name}/recording": {
          "get": {
            "summary": "How a stream's recording is doing",
            "responses": {
              "200": {
                "description": "The recording, or the last one.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Recording"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "501": {"$ref": "#/components/responses/NotImplemented"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          },
          "post": {
            "summary": "Starts, stops, pauses or resumes a stream's recording; answers when that is done, of a stop when \#
    its files are finished. To pause twice is no mistake, nor to resume. Pages of other servers cannot ask this.",
            "requestBody": {
              "required": true,
              "content": {
                "application/json": {
                  "schema": {
                    "type": "object",
                    "required": ["action"],
                    "properties": {"action": {"enum": ["start", "stop", "pause", "resume"]}}
                  }
                }
              }
            },
            "responses": {
              "200": {
                "description": "It is done.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Recording"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "408": {
                "description": "The body has not come in time.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "409": {
                "description": "Not in this state: a recording runs already, or none does.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "413": {
                "description": "A body of more than a kilobyte.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "415": {
                "description": "A body that is not application/json.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "500": {
                "description": "The recording cannot be started; the text says why.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "501": {"$ref": "#/components/responses/NotImplemented"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          }
        },
        "/api/recordings": {
          "get": {
            "summary": "The recorded files of all streams",
            "parameters": [
              {
                "name": "limit",
                "in": "query",
                "description": "The most files to list.",
                "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1000}
              },
              {
                "name": "offset",
                "in": "query",
                "description": "How many of the last ones to pass over.",
                "schema": {"type": "integer", "minimum": 0, "maximum": 1000000000, "default": 0}
              }
            ],
            "responses": {
              "200": {
                "description": "The files, the last one first, those that are being recorded among them.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/RecordingList"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            }
          }
        },
        "/recordings/": {
          "get": {
            "summary": "The list of recorded files as a web page",
            "responses": {
              "200": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            }
          }
        },
        "/recordings/{name}/{recording}": {
          "get": {
            "summary": "A recorded file, as far as it is written",
            "responses": {
              "200": {
                "description": "An MP4 file.",
                "content": {"video/mp4": {"schema": {"type": "string", "format": "binary"}}}
              },
              "206": {
                "description": "The bytes that Range asks for; of several ranges, all of it is sent.",
                "content": {"video/mp4": {"schema": {"type": "string", "format": "binary"}}}
              },
              "304": {"description": "What the client has still holds."},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "416": {
                "description": "There are not that many bytes.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "503": {"$ref": "#/components/responses/Unavailable"}
            },
            "parameters": [
              {"$ref": "#/components/parameters/name"},
              {
                "name": "recording",
                "in": "path",
                "required": true,
                "description": "The file's name, which may have slashes.",
                "schema": {"type": "string", "minLength": 1}
              }
            ]
          }
        },
        "/api/openapi.json": {
          "get": {
            "summary": "This document",
            "responses": {
              "200": {
                "description": "An OpenAPI 3.1 document.",
                "content": {"application/json": {"schema": {"type": "object"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            }
          }
        },
        "/api/qr.svg": {
          "get": {
            "summary": "The QR code of a text, such as an address",
            "responses": {
              "200": {"description": "An SVG image.", "content": {"image/svg+xml": {"schema": {"type": "string"}}}},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "501": {"$ref": "#/components/responses/NotImplemented"}
            },
            "parameters": [
              {
                "name": "text",
                "in": "query",
                "required": true,
                "description": "Up to 512 bytes of UTF-8.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 512}
              }
            ]
          }
        },
        "/{name}": {
          "get": {
            "summary": "A stream's web page",
            "responses": {
              "200": {"description": "The player.", "content": {"text/html": {"schema": {"type": "string"}}}},
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          }
        },
        "/{name}/snapshot.jpg": {
          "get": {
            "summary": "The picture that viewers see now",
            "responses": {
              "200": {
                "description": "A JPEG file.",
                "content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "503": {"$ref": "#/components/responses/Unavailable"},
              "504": {"$ref": "#/components/responses/Late"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}, {"$ref": "#/components/parameters/width"}]
          }
        },
        "/{name}/mjpeg": {
          "get": {
            "summary": "Motion pictures without sound, for as long as the connection lives",
            "responses": {
              "200": {
                "description": "A JPEG file in each part.",
                "content": {"multipart/x-mixed-replace": {"schema": {"type": "string", "format": "binary"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            },
            "parameters": [
              {"$ref": "#/components/parameters/name"},
              {"$ref": "#/components/parameters/width"},
              {
                "name": "fps",
                "in": "query",
                "description": "The most pictures a second; there are never more than 30.",
                "schema": {"type": "integer", "minimum": 1, "maximum": 120, "default": 10}
              }
            ]
          }
        },
        "/{name}/{file}": {
          "get": {
            "summary": "A file of HLS: index.m3u8 (all), playlist.m3u8 (MPEG-TS), live.m3u8 (low latency), and what \#
    these name",
            "responses": {
              "200": {
                "description": "A playlist, segment or part.",
                "content": {
                  "application/vnd.apple.mpegurl": {"schema": {"type": "string"}},
                  "video/mp2t": {"schema": {"type": "string", "format": "binary"}},
                  "video/mp4": {"schema": {"type": "string", "format": "binary"}},
                  "audio/mp4": {"schema": {"type": "string", "format": "binary"}}
                }
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "206": {
                "description": "The bytes of a segment that Range asks for.",
                "content": {
                  "video/mp2t": {"schema": {"type": "string", "format": "binary"}},
                  "video/mp4": {"schema": {"type": "string", "format": "binary"}},
                  "audio/mp4": {"schema": {"type": "string", "format": "binary"}}
                }
              },
              "304": {"description": "What the client has still holds."},
              "416": {
                "description": "There are not that many bytes.",
                "content": {"text/plain": {"schema": {"type": "string"}}}
              },
              "503": {"$ref": "#/components/responses/Unavailable"}
            },
            "parameters": [
              {"$ref": "#/components/parameters/name"},
              {"name": "file", "in": "path", "required": true, "schema": {"type": "string"}},
              {
                "name": "_HLS_msn",
                "in": "query",
                "description": "Answer when the playlist has the segment of this number.",
                "schema": {"type": "integer", "minimum": 0}
              },
              {
                "name": "_HLS_part",
                "in": "query",
                "description": "Answer when it has this part of the segment.",
                "schema": {"type": "integer", "minimum": 0}
              },
              {
                "name": "_HLS_skip",
                "in": "query",
                "description": "Leave out older segments.",
                "schema": {"enum": ["YES", "v2"]}
              }
            ]
          }
        }
      },
      "components": {
        "securitySchemes": {"digest": {"type": "http", "scheme": "digest"}, "basic": {"type": "http", "scheme": \#
    "basic"}},
        "parameters": {
          "name": {
            "name": "name",
            "in": "path",
            "required": true,
            "description": "The stream's name.",
            "schema": {"type": "string", "minLength": 1}
          },
          "width": {
            "name": "width",
            "in": "query",
            "description": "Pixels across; at most the stream's own, which is the default.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 16384}
          }
        },
        "responses": {
          "BadRequest": {
            "description": "The request cannot be understood; the text says why.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "NotFound": {
            "description": "There is no such stream or file, not yet or no longer.",
            "content": {"text/plain": {"schema": {"type": "string"}}, "text/html": {"schema": {"type": "string"}}}
          },
          "Unauthorized": {
            "description": "A name and a password are needed.",
            "headers": {
              "WWW-Authenticate": {
                "description": "Digest with SHA-256 and MD5, and Basic, each in its own line.",
                "schema": {"type": "string"}
              }
            },
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "Unavailable": {
            "description": "What was asked for has not come in time; ask again.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "Late": {
            "description": "No picture has come from the source within two seconds.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "Refused": {
            "description": "Nothing is changed; the text says why: 400 for what cannot be, 403 for what is taken from this \#
    machine only or with a password, 408 when the body has not come in time, 409 for what cannot be in the stream's \#
    present state, 413 for a body of more than 16 KiB, 415 for one that is no JSON, 502 when a source cannot be opened or a \#
    device refuses.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "NotImplemented": {
            "description": "This server makes no QR codes, does not record this stream, or does not let it be changed.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          }
        },
        "schemas": {
          "Recording": {
            "type": "object",
            "additionalProperties": false,
            "required": ["state", "duration", "bytes", "bitrate", "drops"],
            "properties": {
              "state": {
                "enum": ["idle", "waiting", "recording", "paused", "finishing", "failed"],
                "description": "waiting is for the keyframe at which it begins or goes on; failed has stopped by itself."
              },
              "file": {
                "type": "string",
                "format": "uri-reference",
                "pattern": "^/recordings/",
                "description": "The file being written, or the last one; not there before the first."
              },
              "duration": {"type": "number", "minimum": 0, "description": "In seconds, pauses not counted."},
              "bytes": {"type": "integer", "minimum": 0},
              "bitrate": {"type": "integer", "minimum": 0, "description": "In bits a second, over the last seconds."},
              "drops": {
                "type": "integer",
                "minimum": 0,
                "description": "Pictures and frames of sound that the disk was too slow for."
              },
              "error": {"type": "string", "description": "Why it has stopped by itself; not there while it has not."}
            }
          },
          "RecordingList": {
            "type": "object",
            "additionalProperties": false,
            "required": ["recordings", "total", "bytes"],
            "properties": {
              "total": {"type": "integer", "minimum": 0, "description": "How many files there are, listed or not."},
              "bytes": {"type": "integer", "minimum": 0, "description": "The bytes of all of them."},
              "recordings": {
                "type": "array",
                "items": {
                  "type": "object",
                  "additionalProperties": false,
                  "required": ["stream", "name", "file", "bytes", "modifiedAt", "finished"],
                  "properties": {
                    "stream": {"type": "string"},
                    "name": {"type": "string"},
                    "file": {"type": "string", "format": "uri-reference", "pattern": "^/recordings/"},
                    "bytes": {"type": "integer", "minimum": 0},
                    "modifiedAt": {"type": "string", "format": "date-time"},
                    "finished": {"type": "boolean", "description": "Whether it is whole; if not, it grows."}
                  }
                }
              }
            }
          },
          "Source": {
            "type": "object",
            "additionalProperties": false,
            "required": ["started"],
            "description": "Texts that name sources; what has no name is left out. They hold no passwords, and folders only for \#
    those who may choose any source.",
            "properties": {
              "video": {"type": "string"},
              "audio": {"type": "string"},
              "started": {
                "type": "object",
                "additionalProperties": false,
                "description": "What the stream began with.",
                "properties": {"video": {"type": "string"}, "audio": {"type": "string"}}
              }
            }
          },
          "Level": {
            "type": "object",
            "additionalProperties": false,
            "required": ["peak", "rms"],
            "description": "In dBFS; -120 stands for silence.",
            "properties": {
              "peak": {"type": "number", "minimum": -120, "maximum": 0},
              "rms": {"type": "number", "minimum": -120, "maximum": 0}
            }
          },
          "StreamChange": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "bitrate": {
                "type": ["integer", "null"],
                "minimum": 10000,
                "maximum": 200000000,
                "description": "The picture's, in bits a second."
              },
              "mirror": {"type": ["boolean", "null"], "description": "Whether left and right are exchanged."},
              "rotation": {"enum": [0, 90, 180, 270, null], "description": "Clockwise."},
              "mute": {"type": ["boolean", "null"], "description": "Whether silence is sent."},
              "pause": {"type": ["boolean", "null"], "description": "Whether encoding pauses."},
              "controls": {
                "type": ["object", "null"],
                "description": "Values of the controls of the picture's source, by their names.",
                "additionalProperties": {"type": ["integer", "boolean", "null"]}
              }
            }
          },
          "Control": {
            "type": "object",
            "additionalProperties": false,
            "required": [
              "name",
              "label",
              "kind",
              "minimum",
              "maximum",
              "step",
              "defaultValue",
              "value",
              "readOnly",
              "inactive"
            ],
            "properties": {
              "name": {"type": "string"},
              "label": {"type": "string"},
              "kind": {"enum": ["integer", "boolean", "menu", "button"]},
              "minimum": {"type": "integer"},
              "maximum": {"type": "integer"},
              "step": {"type": "integer", "minimum": 1},
              "defaultValue": {"type": "integer"},
              "value": {"type": "integer"},
              "menu": {
                "type": "array",
                "items": {
                  "type": "object",
                  "additionalProperties": false,
                  "required": ["value", "label"],
                  "properties": {"value": {"type": "integer"}, "label": {"type": "string"}}
                }
              },
              "readOnly": {"type": "boolean"},
              "inactive": {"type": "boolean", "description": "Whether setting it has no effect now."}
            }
          },
          "DeviceList": {
            "type": "object",
            "additionalProperties": false,
            "required": ["devices", "generators", "restricted"],
            "properties": {
              "devices": {
                "type": "array",
                "items": {
                  "type": "object",
                  "additionalProperties": false,
                  "required": ["kind", "specification", "name", "stableName", "formats", "controls"],
                  "properties": {
                    "kind": {"enum": ["camera", "screen", "window", "microphone"]},
                    "specification": {"type": "string", "description": "What names it as a source."},
                    "name": {"type": "string"},
                    "stableName": {"type": "string", "description": "Stays when it is unplugged and plugged in again."},
                    "position": {"enum": ["front", "back", "external", "unspecified"], "description": "Of cameras."},
                    "problem": {"type": "string", "description": "Why it cannot be used now, and what mends it."},
                    "formats": {
                      "type": "array",
                      "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["name"],
                        "properties": {
                          "name": {"type": "string", "description": "A FourCC, or the PCM name of sound."},
                          "width": {"type": "integer", "minimum": 1},
                          "height": {"type": "integer", "minimum": 1},
                          "frameRates": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}},
                          "frameRateRange": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["minimum", "maximum"],
                            "properties": {"minimum": {"type": "number"}, "maximum": {"type": "number"}}
                          },
                          "sampleRate": {"type": "integer", "minimum": 1},
                          "channels": {"type": "integer", "minimum": 1}
                        }
                      }
                    },
                    "controls": {"type": "array", "items": {"$ref": "#/components/schemas/Control"}}
                  }
                }
              },
              "generators": {
                "type": "array",
                "description": "Sources that are no devices.",
                "items": {
                  "type": "object",
                  "additionalProperties": false,
                  "required": ["kind", "specification", "name"],
                  "properties": {
                    "kind": {"enum": ["video", "audio"]},
                    "specification": {"type": "string"},
                    "name": {"type": "string"}
                  }
                }
              },
              "restricted": {
                "type": "boolean",
                "description": "Whether some are left out that can be chosen from this machine only, or with a password."
              }
            }
          },
          "StreamList": {
            "type": "object",
            "required": ["time", "streams"],
            "additionalProperties": false,
            "properties": {
              "time": {
                "type": "string",
                "format": "date-time",
                "description": "The server's time of day when the answer was made."
              },
              "streams": {"type": "array", "items": {"$ref": "#/components/schemas/Stream"}}
            }
          },
          "Stream": {
            "type": "object",
            "additionalProperties": false,
            "required": [
              "name",
              "page",
              "snapshot",
              "mjpeg",
              "hls",
              "ts",
              "rtsp",
              "http",
              "viewers",
              "framesIn",
              "framesEncoded",
              "framesDropped",
              "slate",
              "startedAt"
            ],
            "properties": {
              "name": {"type": "string"},
              "page": {"type": "string", "format": "uri-reference", "pattern": "^/"},
              "snapshot": {"type": "string", "format": "uri-reference", "pattern": "^/"},
              "mjpeg": {"type": "string", "format": "uri-reference", "pattern": "^/"},
              "hls": {"type": "string", "format": "uri-reference", "pattern": "^/"},
              "ts": {"type": "string", "format": "uri-reference", "pattern": "^/"},
              "recording": {
                "type": "string",
                "format": "uri-reference",
                "pattern": "^/",
                "description": "Where it is recorded; not there when it is not."
              },
              "rtsp": {"type": "array", "items": {"type": "string", "format": "uri"}},
              "http": {"type": "array", "items": {"type": "string", "format": "uri"}},
              "video": {
                "type": "object",
                "additionalProperties": false,
                "required": ["codec", "width", "height", "frameRate", "bitrate"],
                "properties": {
                  "codec": {"type": "string", "pattern": "^avc1\\.[0-9a-f]{6}$"},
                  "width": {"type": "integer", "minimum": 1},
                  "height": {"type": "integer", "minimum": 1},
                  "frameRate": {"type": "number", "exclusiveMinimum": 0},
                  "bitrate": {"type": "integer", "minimum": 1}
                }
              },
              "audio": {
                "type": "object",
                "additionalProperties": false,
                "required": ["codec", "sampleRate", "channels", "bitrate"],
                "properties": {
                  "codec": {"type": "string", "pattern": "^mp4a\\.40\\.[0-9]+$"},
                  "sampleRate": {"type": "integer", "minimum": 1},
                  "channels": {"type": "integer", "minimum": 1},
                  "bitrate": {"type": "integer", "minimum": 1}
                }
              },
              "viewers": {
                "type": "object",
                "description": "Viewers now, by protocol.",
                "required": ["rtsp", "hls", "mjpeg"],
                "additionalProperties": {"type": "integer", "minimum": 0}
              },
              "framesIn": {"type": "integer", "minimum": 0},
              "framesEncoded": {"type": "integer", "minimum": 0},
              "framesDropped": {"type": "integer", "minimum": 0},
              "slate": {
                "type": "boolean",
                "description": "Whether viewers see the slate, since the source gives nothing."
              },
              "startedAt": {"type": "string", "format": "date-time"},
              "source": {"$ref": "#/components/schemas/Source"},
              "bitrate": {
                "type": "integer",
                "minimum": 1,
                "description": "The picture's, in bits a second. It and what follows can be changed; not there where nothing can."
              },
              "mirror": {"type": "boolean", "description": "Whether left and right are exchanged."},
              "rotation": {"enum": [0, 90, 180, 270], "description": "Clockwise."},
              "mute": {"type": "boolean", "description": "Whether silence is sent."},
              "pause": {"type": "boolean", "description": "Whether encoding pauses."},
              "previewMirrored": {
                "type": "boolean",
                "description": "Whether those who see themselves want the picture mirrored, on their own screens only."
              },
              "level": {"$ref": "#/components/schemas/Level"},
              "controls": {
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "description": "The values of the controls of the picture's source; told of one stream, where there are some."
              },
              "controlList": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Control"},
                "description": "What these controls are."
              }
            }
          }
        }
      }
    }

    """#
}
