/// How long the body of a request may be, by what it is asked of.
enum HTTPBodyLimits {
  /// Bytes of an image that is sent: one of 2000 × 2000 pixels fits in most cases.
  static let imageBytes = 8 << 20

  /// The most bytes of a request's body.
  ///
  /// - Parameter others: What holds for all that is no image.
  static func most(method: String, path: String, others: Int) -> Int {
    let isImage = path.hasPrefix("/api/streams/") && HTTPRoute.imageSuffixes.contains { path.hasSuffix($0) }
    return method == "PUT" && isImage ? max(others, Self.imageBytes) : others
  }
}
