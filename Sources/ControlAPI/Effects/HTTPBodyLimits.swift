/// Maximum sizes of request bodies.
enum HTTPBodyLimits {
  /// Maximum size of an uploaded PNG or JPEG file: most images of 2000 × 2000 pixels fit.
  static let imageBytes = 8 << 20

  /// Maximum size of an uploaded image in bytes; nil for a request with another body.
  static func maximumBytes(method: String, path: String) -> Int? {
    let isImage = path.hasPrefix("/api/streams/") && HTTPRoute.imageSuffixes.contains { path.hasSuffix($0) }
    return method == "PUT" && isImage ? Self.imageBytes : nil
  }
}
