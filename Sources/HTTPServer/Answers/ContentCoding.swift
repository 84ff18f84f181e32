internal import Authentication

/// Negotiation of the content coding by `Accept-Encoding`, RFC 9110 §12.5.3; gzip is the only one offered.
package enum ContentCoding {
  /// Whether gzip is acceptable and its weight is at least that of `identity`.
  package static func acceptsGzip(_ value: String?) -> Bool {
    guard let value, value.utf8.count <= 1024 else { return false }
    var gzip: Int?
    var any: Int?
    var identity: Int?
    for part in value.split(separator: ",") {
      let pieces = part.split(separator: ";", omittingEmptySubsequences: false)
      let name = pieces[0].trimmingSpace()
      var weight = 1000
      for piece in pieces.dropFirst() {
        let parameter = piece.trimmingSpace()
        guard parameter.utf8.count > 2, parameter.prefix(2).lowercased() == "q=" else { continue }
        weight = Self.weight(parameter.dropFirst(2)) ?? 0
      }
      if name.equalsIgnoringCase("gzip") || name.equalsIgnoringCase("x-gzip") {
        gzip = weight
      } else if name == "*" {
        any = weight
      } else if name.equalsIgnoringCase("identity") {
        identity = weight
      }
    }
    let wanted = gzip ?? any ?? 0
    return wanted > 0 && wanted >= identity ?? 0
  }

  /// Parses a weight of 0 to 1 with at most three decimals into thousandths; nil when malformed.
  private static func weight(_ text: Substring) -> Int? {
    let pieces = text.split(separator: ".", omittingEmptySubsequences: false)
    guard pieces.count <= 2, let whole = pieces[0].decimal(as: Int.self), whole <= 1 else { return nil }
    guard pieces.count == 2, !pieces[1].isEmpty else { return whole * 1000 }
    guard pieces[1].utf8.count <= 3, let digits = (pieces[1] + "000").prefix(3).decimal(as: Int.self) else {
      return nil
    }
    return min(1000, whole * 1000 + digits)
  }
}
