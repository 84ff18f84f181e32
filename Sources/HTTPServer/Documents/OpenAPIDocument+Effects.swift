extension OpenAPIDocument {
  /// What can be asked of what is done to pictures, and of what is found out about them.
  static let effectPaths = #"""
        "/api/streams/{name}/effects": {
          "get": {
            "summary": "What is done to a stream's pictures before they are encoded",
            "responses": {
              "200": {
                "description": "The effects.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Effects"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"},
              "501": {"$ref": "#/components/responses/NotImplemented"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          },
          "put": {
            "summary": "Changes what is done to a stream's pictures while it runs, without a dropped picture; answers when it \#
    shows. Privacy is ended from this machine only, or with a password. Pages of other servers cannot ask this.",
            "requestBody": {
              "required": true,
              "description": "What is left out has its default.",
              "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Effects"}}}
            },
            "responses": {
              "200": {
                "description": "The effects as they are now.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Effects"}}}
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
        "/api/streams/{name}/effects/mask": {
          "put": {
            "summary": "Sets the image that is drawn over faces where the effects say so; one that shows is replaced. Pages of other servers cannot \#
    ask this.",
            "requestBody": {
              "required": true,
              "description": "A PNG or JPEG file of at most 8 MiB, 8192 pixels a side and 16 million in all.",
              "content": {
                "image/png": {"schema": {"type": "string", "format": "binary"}},
                "image/jpeg": {"schema": {"type": "string", "format": "binary"}}
              }
            },
            "responses": {
              "200": {
                "description": "The effects as they are now.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Effects"}}}
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
        "/api/streams/{name}/effects/overlay": {
          "put": {
            "summary": "Sets the image that lies over one place of the picture where the effects say so; one that shows is replaced. Pages of other servers cannot \#
    ask this.",
            "requestBody": {
              "required": true,
              "description": "A PNG or JPEG file of at most 8 MiB, 8192 pixels a side and 16 million in all.",
              "content": {
                "image/png": {"schema": {"type": "string", "format": "binary"}},
                "image/jpeg": {"schema": {"type": "string", "format": "binary"}}
              }
            },
            "responses": {
              "200": {
                "description": "The effects as they are now.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Effects"}}}
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
        "/api/streams/{name}/events": {
          "get": {
            "summary": "What happens to the faces in a stream's pictures, and where they are, as it happens, for as long as the \#
    connection and the stream live",
            "responses": {
              "200": {
                "description": "Server-sent events. `face` has a FaceEvent; `faces` has Faces, when they have changed, at most \#
    ten a second, and first as they are now. A comment comes at least every ten seconds. Who is slow loses the oldest.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}}
              },
              "400": {"$ref": "#/components/responses/BadRequest"},
              "404": {"$ref": "#/components/responses/NotFound"},
              "401": {"$ref": "#/components/responses/Unauthorized"}
            },
            "parameters": [{"$ref": "#/components/parameters/name"}]
          }
        }
    """#
}
