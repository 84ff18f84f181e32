public import Media

/// A parsed request for one of a stream's files.
public struct HLSRequest: Hashable, Sendable {
  /// The requested file.
  enum Resource: Hashable, Sendable {
    /// `index.m3u8`.
    case multivariantPlaylist
    /// `playlist.m3u8`, `live.m3u8`.
    case mediaPlaylist(HLSFormat)
    /// `TOKEN-17.ts`, `TOKEN-17.m4s`.
    case segment(HLSFormat, token: String, number: Int)
    /// `TOKEN-17.3.m4s`.
    case part(token: String, number: Int, index: Int)
    /// `TOKEN-init1.mp4`.
    case initialization(token: String, number: Int)
  }

  let resource: Resource
  let directives: HLSDirectives
  /// Arrival time on the streams' clock, from which timeouts count.
  public var arrival: MediaTime

  /// Parses the part of a URL after `/NAME/`.
  ///
  /// - Parameters:
  ///   - file: Last path component, percent-decoded.
  ///   - query: Text after the question mark; empty without one.
  ///   - arrival: Current time of the streams' clock.
  /// - Returns: nil when the name is not that of an HLS file.
  public init?(file: String, query: String = "", arrival: MediaTime) {
    guard let resource = Resource(file: file) else { return nil }
    self.resource = resource
    self.directives = HLSDirectives(parsing: query)
    self.arrival = arrival
  }

  /// Whether the request is for a media playlist.
  public var isMediaPlaylist: Bool {
    if case .mediaPlaylist = self.resource { true } else { false }
  }

  /// Whether the request is for the multivariant playlist.
  public var isMultivariantPlaylist: Bool { self.resource == .multivariantPlaylist }

  /// Whether the request is for a playlist, which activates an inactive stream.
  public var isPlaylist: Bool {
    switch self.resource {
    case .multivariantPlaylist, .mediaPlaylist: true
    case .segment, .part, .initialization: false
    }
  }
}

/// The two formats of the same segments.
enum HLSFormat: Hashable, Sendable {
  /// MPEG-TS, complete segments only.
  case transportStream
  /// Fragmented MP4 with parts.
  case lowLatency
}

extension HLSRequest.Resource {
  init?(file: String) {
    switch file {
    case "index.m3u8": self = .multivariantPlaylist
    case "playlist.m3u8": self = .mediaPlaylist(.transportStream)
    case "live.m3u8": self = .mediaPlaylist(.lowLatency)
    default: self.init(segmentFile: file)
    }
  }

  /// `TOKEN-` and then `17.ts`, `17.m4s`, `17.3.m4s` or `init1.mp4`.
  private init?(segmentFile file: String) {
    guard
      file.utf8.count <= 128, let dash = file.utf8.firstIndex(of: UInt8(ascii: "-")), dash > file.startIndex
    else { return nil }
    let token = String(file[..<dash])
    let pieces = file[file.utf8.index(after: dash)...].split(separator: ".", omittingEmptySubsequences: false)
    guard let first = pieces.first else { return nil }
    switch (pieces.count, pieces.last) {
    case (2, "ts"):
      guard let number = Int(decimal: first) else { return nil }
      self = .segment(.transportStream, token: token, number: number)
    case (2, "m4s"):
      guard let number = Int(decimal: first) else { return nil }
      self = .segment(.lowLatency, token: token, number: number)
    case (3, "m4s"):
      guard let number = Int(decimal: first), let index = Int(decimal: pieces[1]) else { return nil }
      self = .part(token: token, number: number, index: index)
    case (2, "mp4"):
      guard first.hasPrefix("init"), let number = Int(decimal: first.dropFirst(4)) else { return nil }
      self = .initialization(token: token, number: number)
    default: return nil
    }
  }
}

extension Int {
  /// Parses a canonical decimal number: no sign, no leading zero, at most 2⁵³.
  init?(decimal text: some StringProtocol) {
    let digits = text.utf8
    guard
      (1...16).contains(digits.count), digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      digits.count == 1 || digits.first != UInt8(ascii: "0"),
      let value = Int(text), value <= 1 << 53
    else { return nil }
    self = value
  }
}

/// Delivery directives in the query of a playlist URL, draft-pantos-hls-rfc8216bis §6.2.5.
package struct HLSDirectives: Hashable, Sendable {
  /// `_HLS_msn`: media sequence number that the playlist must contain.
  var sequenceNumber: Int?
  /// `_HLS_part`: index of the part of that segment that the playlist must contain.
  var part: Int?
  /// `_HLS_skip`: the client accepts a delta update; `v2` also skips date ranges, which are never present.
  var allowsSkip = false
  /// Description of an invalid directive in one line; nil if all are valid.
  package var problem: String?

  /// Parses a query. Other parameters, which caches and pages add, are ignored; a directive with two different values is
  /// invalid.
  package init(parsing query: String) {
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
  /// Parses decimal digits with leading zeros, at most 2⁵³.
  fileprivate init?(digits: Substring) {
    guard !digits.isEmpty else { return nil }
    let significant = digits.drop { $0 == "0" }
    self.init(decimal: significant.isEmpty ? "0" : significant)
  }
}
