extension OpenAPIDocument {
  /// The document from the end of the paths on: what the answers have in common.
  static let components = """
    \(Self.answers)
            "schemas": {
    \([Self.streamSchemas, Self.effectSchemas, Self.recordingSchemas].joined(separator: ",\n"))
            }
          }
        }

    """

  private static let answers = #"""
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
    present state, 413 for a body of more than 16 KiB, of an image 8 MiB, 415 for one of another type, 502 when a source cannot be opened or a \#
    device refuses.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          },
          "NotImplemented": {
            "description": "This server makes no QR codes, does not record this stream, or does not let it be changed.",
            "content": {"text/plain": {"schema": {"type": "string"}}}
          }
        },
    """#
}
