public import Media

/// A request for one of a stream's files.
public struct HLSRequest: Hashable, Sendable {
  /// What is asked for.
  enum Resource: Hashable, Sendable {
    /// `index.m3u8`.
    case multivariantPlaylist
    /// `playlist.m3u8`, `live.m3u8`.
    case mediaPlaylist(HLSFace)
    /// `TOKEN-17.ts`, `TOKEN-17.m4s`.
    case segment(HLSFace, token: String, number: Int)
    /// `TOKEN-17.3.m4s`.
    case part(token: String, number: Int, index: Int)
    /// `TOKEN-init1.mp4`.
    case initialization(token: String, number: Int)
  }

  let resource: Resource
  let directives: HLSDirectives
  /// When it came: waiting is counted from here.
  public let arrival: MediaTime

  /// A request for what follows `/NAME/`.
  ///
  /// - Parameters:
  ///   - file: The last component of the path, percent-decoded.
  ///   - query: What follows the question mark, if anything.
  ///   - arrival: Now.
  /// - Returns: nil when no stream has a file with such a name: that is for others to answer.
  public init?(file: String, query: String = "", arrival: MediaTime) {
    guard let resource = Resource(file: file) else { return nil }
    self.resource = resource
    self.directives = HLSDirectives(parsing: query)
    self.arrival = arrival
  }

  /// Whether it is for a playlist that tells of segments.
  public var isMediaPlaylist: Bool {
    if case .mediaPlaylist = self.resource { true } else { false }
  }

  /// Whether it is for a playlist, which starts a stream that rests.
  public var isPlaylist: Bool {
    switch self.resource {
    case .multivariantPlaylist, .mediaPlaylist: true
    case .segment, .part, .initialization: false
    }
  }
}

/// The two ways in which the same segments are offered.
enum HLSFace: Hashable, Sendable {
  /// MPEG-TS, whole segments.
  case transportStream
  /// fMP4, with parts.
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
  /// A number in the one way in which it is written: decimal digits, no sign, no zero before others, at most 2⁵³.
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
