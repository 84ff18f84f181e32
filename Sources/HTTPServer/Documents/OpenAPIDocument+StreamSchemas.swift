extension OpenAPIDocument {
  /// What is told of streams, and of the devices that they can be switched to.
  static let streamSchemas = #"""
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
              "audioFramesPassedThrough",
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
              "audioFramesPassedThrough": {"type": "integer", "minimum": 0},
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
                "description": "Whether who asks may change it: its sources, settings, effects and recording."
              },
              "mute": {"type": "boolean", "description": "Whether silence is sent."},
              "pause": {"type": "boolean", "description": "Whether encoding pauses."},
              "previewMirrored": {
                "type": "boolean",
                "description": "Whether those who see themselves want the picture mirrored, on their own screens only."
              },
              "level": {"$ref": "#/components/schemas/Level"},
              "effects": {"$ref": "#/components/schemas/Effects"},
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
          }
    """#
}
