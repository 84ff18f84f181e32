internal import Authentication
internal import HTTPTypes

/// The web pages that may request, show or read a response.
package enum HTTPSharing: Hashable, Sendable {
  /// Pages of this server.
  case sameOrigin
  /// Pages of every site show it as an image, but cannot read it.
  case embeddable
  /// Pages of the sites of `--cors` read it; other pages show it only if it is embeddable.
  case crossOrigin(isEmbeddable: Bool)

  /// Response fields that browsers of other sites may read beside the simple ones, Fetch §3.3.5.
  private static let exposedFields =
    "Accept-Patch, Accept-Ranges, Age, Content-Length, Content-Range, Date, ETag, Link, Location"

  /// Adds the fields of CORS (Fetch §3.3) and CORP (Fetch §3.7).
  func add(to fields: inout HTTPFields, origin: String?, policy: OriginPolicy) {
    switch self {
    case .sameOrigin: fields[.crossOriginResourcePolicy] = "same-origin"
    case .embeddable: break
    case .crossOrigin(let isEmbeddable):
      // Requests with CORS ignore it.
      if !isEmbeddable { fields[.crossOriginResourcePolicy] = "same-origin" }
      if policy.dependsOnOrigin {
        fields[.vary] = [fields[.vary], "Origin"].compactMap(\.self).joined(separator: ", ")
      }
      guard let allowed = policy.allowedOrigin(for: origin) else { return }
      fields[.accessControlAllowOrigin] = allowed
      fields[.accessControlExposeHeaders] = Self.exposedFields
    }
  }
}
