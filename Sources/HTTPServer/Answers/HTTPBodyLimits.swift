/// Maximum sizes of request bodies.
enum HTTPBodyLimits {
  /// Maximum size of an uploaded PNG or JPEG file: most images of 2000 × 2000 pixels fit.
  static let imageBytes = 8 << 20

  /// Maximum size of a request's body in bytes.
  ///
  /// - Parameter limit: The limit of bodies other than images.
  static func maximumBytes(method: String, path: String, default limit: Int) -> Int {
    let isImage = path.hasPrefix("/api/streams/") && HTTPRoute.imageSuffixes.contains { path.hasSuffix($0) }
    return method == "PUT" && isImage ? max(limit, Self.imageBytes) : limit
  }
}
