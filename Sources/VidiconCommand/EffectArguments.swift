import ArgumentParser

/// The command-line options of effects.
struct EffectArguments: ParsableArguments {
  @Option(
    help: """
      Faces: track (detect and report them), boxes (also draw boxes), privacy (cover them, and the whole frame while \
      their positions are unknown), off.
      """)
  var faces: String?

  @Option(
    help: """
      The smallest face that privacy searches for, of the frame's shorter side; smaller is slower, and faces below 20 \
      pixels may be shown. (default: 5.5%)
      """)
  var privacyMinFace: String?

  @Option(help: "The mask over each face: a PNG or JPEG file, or oval, blur, pixelate, solid.")
  var mask: String?

  @Option(help: "The part of a face that the mask covers: face, eyes (as glasses do), mouth. (default: face)")
  var maskPart: String?

  @Option(
    help: """
      A JSON file with the points of the mask image to place on the eyes, or the mouth's corners, such as \
      {"left": [0.3, 0.5], "right": [0.7, 0.5]}.
      """)
  var maskAnchors: String?

  @Option(help: "Strength of face smoothing, 0 to 1.")
  var smooth: String?

  @Option(
    help:
      "An image such as a logo, FILE or FILE@POSITION: top-left, top, top-right, left, center, …. (default: top-right)")
  var overlay: String?

  @Flag(help: "Draw the time of day on the video.")
  var clock = false

  @Option(help: "Save a snapshot, as viewers see it, when a smile begins: smile:FOLDER.")
  var snapshotOn: String?
}
