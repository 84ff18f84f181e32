/// A violation of a rule, with file and line.
struct Violation: Hashable, CustomStringConvertible {
  var path: String
  var line: Int
  var message: String

  var description: String { "\(self.path):\(self.line): \(self.message)" }
}

/// Rules for every Swift file that the compiler does not check. Each rule returns its violations.
enum SourceRules {
  /// Imports point down: from edges to engines to pure targets, and along `Floor.rooms`.
  static func imports(of text: SwiftText, in room: String) -> [Violation] {
    let names = Floor.rooms.map(\.key)
    guard let index = names.firstIndex(of: room) else {
      return [Violation(path: text.path, line: 1, message: "\(room) has no floor yet; give it one in Floor.rooms")]
    }
    let floor = Floor.rooms[index].value
    return text.imports.compactMap { module, line in
      func violation(_ message: String) -> Violation {
        Violation(path: text.path, line: line.number, message: message)
      }
      if let other = names.firstIndex(of: module) {
        return other < index ? nil : violation("\(room) imports \(module), which stands above it")
      }
      if floor == .pure, !Floor.modulesForPure.contains(module) {
        return violation("\(room) is pure and imports \(module)")
      }
      if floor < .edge, Floor.modulesForEdges.contains(module) {
        return violation("\(room) is no edge and imports \(module)")
      }
      if let rooms = Floor.roomsOfModules[module], !rooms.contains(room) {
        return violation("\(room) imports \(module), which is for \(rooms.sorted().joined(separator: ", "))")
      }
      return nil
    }
  }

  /// A pure target uses no clock, task, thread, channel, socket, file or random number.
  static func purity(of text: SwiftText) -> [Violation] {
    let impure: Set<Substring> = [
      // Clocks.
      "ContinuousClock", "SuspendingClock", "Date", "DispatchTime", "NIODeadline", "clock_gettime", "gettimeofday",
      // Tasks and threads.
      "actor", "async", "await", "Task", "TaskGroup", "Thread", "pthread_create",
      // Sockets and channels, some of which NIOCore has.
      "Channel", "ChannelHandler", "ChannelHandlerContext", "EventLoop", "EventLoopFuture", "EventLoopGroup",
      "SocketAddress", "socket",
      // Files, and standard output.
      "FileHandle", "FileManager", "fopen", "print",
      // Chance.
      "SystemRandomNumberGenerator", "random", "randomElement", "shuffled",
    ]
    return text.lines.flatMap { line in
      line.words.filter(impure.contains).map {
        Violation(path: text.path, line: line.number, message: "\($0) in a pure target")
      }
    }
  }

  /// The ways to a frame that may be shown, and the files that may go them. The compiler sees to the rest: encoders accept a
  /// `ReleasedFrame` only.
  private static let releases: KeyValuePairs<String, Set<String>> = [
    // A stream's chain of effects decides that it has no privacy; the slate shows no camera.
    "notPrivate:": [
      "/Sources/Codecs/ReleasedFrame.swift", "/Sources/Effects/Chain/ReleasedFrame.swift",
      "/Sources/Effects/Privacy/CoveredFrame.swift",
    ],
    // The same pixels, copied or scaled.
    "replacingFrame(": [
      "/Sources/Codecs/ReleasedFrame.swift", "/Sources/Effects/Chain/ReleasedFrame.swift",
      "/Sources/Effects/Chain/ReleasedFrame+Scaling.swift",
    ],
    // Marks: of what a search has covered, and of custom privacy effects.
    ": ReleaseMark": ["/Sources/Codecs/ReleasedFrame.swift", "/Sources/Effects/Privacy/CoveredFrame.swift"],
    "some ReleaseMark": ["/Sources/Codecs/ReleasedFrame.swift"],
    "PrivacyMark(": ["/Sources/Effects/Privacy/CoveredFrame.swift", "/Sources/Effects/Chain/EffectChain.swift"],
    "CoveredFrame(": ["/Sources/Effects/Privacy/CoveredFrame.swift", "/Sources/Effects/Masks/PrivacyMask.swift"],
  ]

  /// Frames are released by the chain of effects only, and encoders take no other frames.
  static func releases(of text: SwiftText) -> [Violation] {
    text.lines.flatMap { line -> [Violation] in
      func violation(_ message: String) -> Violation {
        Violation(path: text.path, line: line.number, message: message)
      }
      let ways = Self.releases.filter { line.code.has($0.key) && !$0.value.contains(text.path) }
      let isRaw = line.code.has("func encode(") && line.words.contains("VideoFrame")
      return ways.map { violation("\($0.key) releases a frame; only the chain of effects may") }
        + (isRaw ? [violation("an encoder of frames that were not released")] : [])
    }
  }

  /// A file has at most 600 lines.
  static func length(of text: SwiftText) -> [Violation] {
    text.lines.count <= 601  // The last line end is followed by an empty piece.
      ? [] : [Violation(path: text.path, line: 601, message: "longer than 600 lines; split it")]
  }

  /// Code that disables checks of the compiler, or can end the process, has a comment with the reason within six lines.
  static func justifications(of text: SwiftText) -> [Violation] {
    let marks = ["@unchecked Sendable", "nonisolated(unsafe)", "fatalError(", "try!", " as! ", "unsafeBitCast("]
    let reach = 6
    return text.lines.enumerated().flatMap { index, line in
      marks.filter(line.code.has).compactMap { mark in
        let near = text.lines[max(0, index - reach)...min(index + reach, text.lines.count - 1)]
        if near.contains(where: { $0.text.has("// Safe because ") }) { return nil }
        return Violation(path: text.path, line: line.number, message: "\(mark) without \"// Safe because …\" near it")
      }
    }
  }

  /// Tests wait for events and never sleep; a task that implements the timeout of a wait is not a sleep. The pause between two
  /// checks has a comment "// Safe because …".
  static func sleeps(in text: SwiftText) -> [Violation] {
    let sleeping: Set<Substring> = ["sleep", "usleep", "nanosleep", "asyncAfter"]
    return text.lines.enumerated().compactMap { index, line in
      guard line.words.contains(where: sleeping.contains) else { return nil }
      let code = line.code.replacing("Task.sleep(for: limit)", with: "")
      let isJustified = index > 0 && text.lines[index - 1].text.hasPrefix("// Safe because ")
      guard sleeping.contains(where: code.contains), !isJustified else { return nil }
      return Violation(path: text.path, line: line.number, message: "a sleep in a test")
    }
  }

  /// Public declarations have a doc comment, including the cases of enumerations and the requirements of protocols,
  /// which swift-format does not check.
  static func documentation(of text: SwiftText) -> [Violation] {
    var violations: [Violation] = []
    var depth = 0
    /// The depths inside the public enumerations and protocols that are open here.
    var members: [(depth: Int, keywords: Set<Substring>)] = []
    for (index, line) in text.lines.enumerated() {
      let words = Array(line.words.drop { $0 == "indirect" || $0 == "static" || $0 == "mutating" })
      let isPublic = line.words.contains("public") && !words.contains("import") && !words.contains("extension")
      let isMember = members.last.map { $0.depth == depth && words.first.map($0.keywords.contains) == true } ?? false
      if isPublic || isMember, !Self.hasDocComment(text.lines[..<index]) {
        violations.append(Violation(path: text.path, line: line.number, message: "no doc comment: \(line.text)"))
      }
      let depthBefore = depth
      depth += line.code.count { $0 == "{" } - line.code.count { $0 == "}" }
      members.removeAll { $0.depth > depth }
      if isPublic, depth > depthBefore {
        if words.contains("enum") { members.append((depth, ["case"])) }
        if words.contains("protocol") {
          members.append((depth, ["associatedtype", "func", "init", "subscript", "var"]))
        }
      }
    }
    return violations
  }

  /// Doc comments of public declarations, cases excepted, have at least four words, and five in an initializer with
  /// parameters that "creates" something.
  static func emptyDocumentation(of text: SwiftText) -> [Violation] {
    text.lines.enumerated().compactMap { index, line in
      guard line.words.contains("public"), !line.words.contains("import"), !line.words.contains("extension"),
        !line.words.contains("case")
      else { return nil }
      let attributes = text.lines[..<index].reversed().prefix { $0.text.hasPrefix("@") }.count
      let comment = text.lines[..<(index - attributes)].reversed().prefix { $0.text.hasPrefix("///") }
      let words = comment.reversed().flatMap { $0.text.dropFirst(3).split(separator: " ") }
      let isCreation = line.words.contains("init") && !line.code.contains("init()") && words.first == "Creates"
      guard !words.isEmpty, words.count < (isCreation ? 5 : 4) else { return nil }
      return Violation(
        path: text.path, line: line.number,
        message: "a doc comment that says nothing: \(words.joined(separator: " "))")
    }
  }

  /// Whether the lines before a declaration end in a doc comment, but for attributes.
  private static func hasDocComment(_ lines: ArraySlice<SwiftText.Line>) -> Bool {
    lines.last { !$0.text.hasPrefix("@") && !($0.text.hasPrefix("//") && !$0.text.hasPrefix("///")) }?
      .text.hasPrefix("///") ?? false
  }
}
