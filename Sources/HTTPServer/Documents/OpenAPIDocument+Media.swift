extension OpenAPIDocument {
  /// What is watched: the pages, pictures and files of streams.
  static let mediaPaths = #"""
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
    """#
}
