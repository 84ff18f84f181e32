internal import Authentication
internal import Crypto

/// What the server answers, as an OpenAPI 3.1 document: for people, for programs, and for the tests, which hold the server
/// to it.
enum OpenAPIDocument {
  /// The value of `ETag`: another one for another document, whatever version it bears.
  static let etag = "\"\(hexadecimal(SHA256.hash(data: Array(Self.text.utf8)).prefix(12)))\""

  /// The document, JSON.
  static let text = Self.paths + Self.components

  /// What can be asked.
  private static let paths = #"""
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
              "403": {"$ref": "#/components/responses/Refused"},
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

    """#
}
