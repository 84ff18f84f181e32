internal import Authentication
internal import Crypto

/// What the server answers, as an OpenAPI 3.1 document: for people, for programs, and for the tests, which hold the server
/// to it.
enum OpenAPIDocument {
  /// The value of `ETag`: another one for another document, whatever version it bears.
  static let etag = "\"\(hexadecimal(SHA256.hash(data: Array(Self.text.utf8)).prefix(12)))\""

  /// The document, JSON.
  static let text = """
    \(Self.opening)
    \([Self.serverPaths, Self.streamPaths, Self.effectPaths, Self.recordingPaths, Self.mediaPaths].joined(separator: ",\n"))
      },
    \(Self.components)
    """

  /// What comes before the paths.
  private static let opening = #"""
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
    """#

  /// What can be asked of the server itself.
  private static let serverPaths = #"""
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
        }
    """#
}
