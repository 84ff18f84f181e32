extension OpenAPIDocument {
  /// What can be asked of recordings.
  static let recordingPaths = #"""
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
        }
    """#
}
