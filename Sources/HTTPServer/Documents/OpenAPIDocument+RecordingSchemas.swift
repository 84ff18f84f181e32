extension OpenAPIDocument {
  /// What is told of recordings.
  static let recordingSchemas = #"""
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
          }
    """#
}
