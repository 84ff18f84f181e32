extension OpenAPIDocument {
  /// What can be asked of streams, and of the devices that they can be switched to.
  static let streamPaths = #"""
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
        }
    """#
}
