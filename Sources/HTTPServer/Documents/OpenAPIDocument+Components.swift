extension OpenAPIDocument {
  /// The second part of the document: what the answers have in common, to its end.
  static let components = #"""
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
              "framesPassedThrough",
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
              "framesPassedThrough": {"type": "integer", "minimum": 0},
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
              "steerable": {
                "type": "boolean",
                "description": "Whether who asks may change it: its sources, settings and recording."
              },
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
