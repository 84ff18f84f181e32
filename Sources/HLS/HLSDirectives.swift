/// The delivery directives in the query of a playlist's address, draft-pantos-hls-rfc8216bis §6.2.5.
struct HLSDirectives: Hashable, Sendable {
  /// `_HLS_msn`: the playlist is to hold the segment of this number.
  var sequenceNumber: Int?
  /// `_HLS_part`: the playlist is to hold this part of that segment.
  var part: Int?
  /// `_HLS_skip`: a delta update is welcome. Its other value, `v2`, also skips date ranges, of which there are none.
  var allowsSkip = false
  /// What is wrong, in one line.
  var problem: String?

  /// Reads a query. Other parameters are left alone, since caches and pages add theirs; directives that appear twice
  /// with two values are wrong.
  init(parsing query: String) {
    var skip: Substring?
    for pair in query.split(separator: "&") where pair.utf8.starts(with: "_HLS_".utf8) {
      let pieces = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = pieces.count == 2 ? pieces[1] : ""
      switch pieces[0] {
      case "_HLS_msn": self.set(\.sequenceNumber, to: value, "_HLS_msn")
      case "_HLS_part": self.set(\.part, to: value, "_HLS_part")
      case "_HLS_skip": skip = skip ?? value
      default: break
      }
    }
    self.allowsSkip = skip == "YES" || skip == "v2"
    if self.part != nil, self.sequenceNumber == nil { self.problem = self.problem ?? "_HLS_part needs _HLS_msn" }
  }

  private mutating func set(_ field: WritableKeyPath<Self, Int?>, to text: Substring, _ name: String) {
    guard let value = Int(digits: text) else {
      self.problem = self.problem ?? "\(name) is not a decimal number below 2^53"
      return
    }
    if let other = self[keyPath: field], other != value { self.problem = self.problem ?? "\(name) appears twice" }
    self[keyPath: field] = value
  }
}

extension Int {
  /// Decimal digits, zeros before others allowed; at most 2⁵³.
  fileprivate init?(digits: Substring) {
    guard !digits.isEmpty else { return nil }
    let significant = digits.drop { $0 == "0" }
    self.init(decimal: significant.isEmpty ? "0" : significant)
  }
}
