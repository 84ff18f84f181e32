extension OpenAPIDocument {
  /// What is told of effects and faces.
  static let effectSchemas = #"""
          "Effects": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "faces": {
                "enum": ["off", "track", "boxes", "privacy", null],
                "description": "track tells of faces in events, boxes also frames them in the picture, privacy covers them, and all \#
    of the picture while it is not sure where they are."
              },
              "mask": {
                "enum": ["oval", "blur", "pixelate", "solid", "image", null],
                "description": "What is drawn over each face; null for nothing."
              },
              "maskPart": {"enum": ["face", "eyes", "mouth", null]},
              "maskAnchors": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "required": ["left", "right"],
                "description": "Where two points of the face lie in the image of the mask, from 0 to 1 across and down.",
                "properties": {"left": {"$ref": "#/components/schemas/Point"}, "right": {"$ref": "#/components/schemas/Point"}}
              },
              "smooth": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "How much faces are smoothed."},
              "overlay": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "description": "Where the overlay's image lies, and how much is seen of it; null for nowhere.",
                "properties": {
                  "position": {
                    "enum": ["top-left", "top", "top-right", "left", "center", "right", "bottom-left", "bottom", \#
    "bottom-right", null]
                  },
                  "opacity": {"type": ["number", "null"], "minimum": 0, "maximum": 1}
                }
              },
              "clock": {"type": ["boolean", "null"], "description": "Whether the time of day is written into the picture."},
              "color": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "description": "0 changes nothing.",
                "properties": {
                  "brightness": {"type": ["number", "null"], "minimum": -1, "maximum": 1},
                  "contrast": {"type": ["number", "null"], "minimum": -1, "maximum": 1},
                  "saturation": {"type": ["number", "null"], "minimum": -1, "maximum": 1},
                  "temperature": {"type": ["number", "null"], "minimum": -1, "maximum": 1}
                }
              }
            }
          },
          "Point": {"type": "array", "items": {"type": "number", "minimum": -4, "maximum": 5}, "minItems": 2, "maxItems": 2},
          "Box": {
            "type": "object",
            "additionalProperties": false,
            "required": ["x", "y", "width", "height"],
            "description": "A rectangle, in pixels of the picture; it may reach over the picture's edges.",
            "properties": {
              "x": {"type": "integer"},
              "y": {"type": "integer"},
              "width": {"type": "integer"},
              "height": {"type": "integer"}
            }
          },
          "FaceEvent": {
            "type": "object",
            "additionalProperties": false,
            "required": ["time", "date", "event", "id", "box"],
            "properties": {
              "time": {"$ref": "#/components/schemas/PictureTime"},
              "date": {"$ref": "#/components/schemas/PictureDate"},
              "event": {"enum": ["entered", "left", "smile", "blink"]},
              "id": {"$ref": "#/components/schemas/FaceID"},
              "box": {"$ref": "#/components/schemas/Box"}
            }
          },
          "Faces": {
            "type": "object",
            "additionalProperties": false,
            "required": ["time", "date", "width", "height", "faces"],
            "properties": {
              "time": {"$ref": "#/components/schemas/PictureTime"},
              "date": {"$ref": "#/components/schemas/PictureDate"},
              "width": {"type": "integer", "minimum": 1, "description": "Pixels across of the picture."},
              "height": {"type": "integer", "minimum": 1, "description": "Pixels down."},
              "faces": {
                "type": "array",
                "items": {
                  "type": "object",
                  "additionalProperties": false,
                  "required": ["id", "box", "smiling", "leftEyeClosed", "rightEyeClosed"],
                  "properties": {
                    "id": {"$ref": "#/components/schemas/FaceID"},
                    "box": {"$ref": "#/components/schemas/Box"},
                    "smiling": {"type": "boolean"},
                    "leftEyeClosed": {"type": "boolean", "description": "The face's own left."},
                    "rightEyeClosed": {"type": "boolean"}
                  }
                }
              }
            }
          },
          "PictureTime": {
            "type": "number",
            "description": "When the picture was captured, in seconds on the timeline of the stream's fMP4 files."
          },
          "PictureDate": {
            "type": "string",
            "format": "date-time",
            "description": "The same as EXT-X-PROGRAM-DATE-TIME tells it."
          },
          "FaceID": {
            "type": "integer",
            "description": "The same for the same face while it is in the picture; never used again."
          }
    """#
}
