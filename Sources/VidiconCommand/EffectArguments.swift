import ArgumentParser

/// The options that say what is done to the pictures, as they are written.
struct EffectArguments: ParsableArguments {
  @Option(
    help: """
      Faces: track (find them, and tell of them), boxes (also frame them), privacy (cover them, and the whole picture \
      while it is not known where they are), off.
      """)
  var faces: String?

  @Option(help: "What is drawn over each face: a PNG or JPEG file, or oval, blur, pixelate, solid.")
  var mask: String?

  @Option(help: "What of a face the mask covers: face, eyes (as glasses do), mouth. (default: face)")
  var maskPart: String?

  @Option(
    help: """
      A JSON file with the points of the mask's image that come to lie on the eyes, or the mouth's corners, such as \
      {"left": [0.3, 0.5], "right": [0.7, 0.5]}.
      """)
  var maskAnchors: String?

  @Option(help: "How much faces are smoothed, 0 to 1.")
  var smooth: String?

  @Option(
    help:
      "An image such as a logo, FILE or FILE@POSITION: top-left, top, top-right, left, center, …. (default: top-right)")
  var overlay: String?

  @Flag(help: "Write the time of day into the picture.")
  var clock = false

  @Option(help: "Keep a picture, as viewers see it, when somebody begins to smile: smile:FOLDER.")
  var snapshotOn: String?

  /// What is set.
  var values: [(StreamOptions.Key, String?)] {
    [
      (.faces, self.faces), (.mask, self.mask), (.maskPart, self.maskPart), (.maskAnchors, self.maskAnchors),
      (.smooth, self.smooth), (.overlay, self.overlay), (.clock, self.clock ? "true" : nil),
      (.snapshotOn, self.snapshotOn),
    ]
  }
}
