/// The lines of code of one room that another one has too, in runs of three or more: what was written twice.
///
/// Comments, imports and lines of twelve characters or fewer are left out, and protocols have one name.
struct EqualLines {
  /// Number of lines in a run.
  private static let length = 3
  private static let protocolNames = ["RTMP", "RTSP", "WebRTC", "HLS"]

  /// Number of lines of the room.
  private(set) var count = 0
  /// The lines that the other room has too.
  private(set) var equal: [String] = []

  init(_ files: [SwiftText], in others: [SwiftText]) {
    let known = Set(others.flatMap { Self.runs(of: Self.lines(of: $0)) })
    for file in files {
      let lines = Self.lines(of: file)
      var places: Set<Int> = []
      for (start, run) in Self.runs(of: lines).enumerated() where known.contains(run) {
        places.formUnion(start..<(start + Self.length))
      }
      self.count += lines.count
      self.equal += places.sorted().map { lines[$0] }
    }
  }

  private static func lines(of text: SwiftText) -> [String] {
    text.lines.compactMap { line in
      guard line.code.count > 12, !line.words.contains("import") else { return nil }
      return Self.protocolNames.reduce(line.code) { $0.replacing($1, with: "P") }
    }
  }

  /// The runs that begin with each line, in the order of the lines.
  private static func runs(of lines: [String]) -> [[String]] {
    guard lines.count >= Self.length else { return [] }
    return (0...(lines.count - Self.length)).map { Array(lines[$0..<($0 + Self.length)]) }
  }
}
