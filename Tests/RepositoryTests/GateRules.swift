import Foundation

/// Rules for the tests of the gate, whose verdict must not depend on how fast the machine is. An exception has a comment
/// "// Safe because …" within six lines.
enum GateRules {
  /// Whether a file belongs to the tests of the gate, or to what they share; the long suite may judge time.
  static func apply(to path: String) -> Bool {
    !path.hasPrefix("/Tests/EndToEndTests/")
      || ["Smoke", "Harness"].contains { path.hasPrefix("/Tests/EndToEndTests/\($0)/") }
  }

  /// The files of the gate among those of all tests. Where a smoke test or the harness names a suite of the long suite, and so calls its
  /// functions, the file of that suite belongs to them, without its own tests.
  static func gate(among files: [SwiftText]) -> [SwiftText] {
    var gate = files.filter { Self.apply(to: $0.path) }
    var others = files.filter { !Self.apply(to: $0.path) }.map { (Self.withoutTests($0), Self.suites(of: $0)) }
    var named = Self.words(of: gate.filter { $0.path.hasPrefix("/Tests/EndToEndTests/") })
    while let index = others.firstIndex(where: { !$0.1.isDisjoint(with: named) }) {
      let (file, _) = others.remove(at: index)
      named.formUnion(Self.words(of: [file]))
      gate.append(file)
    }
    return gate
  }

  private static func words(of files: [SwiftText]) -> Set<Substring> {
    files.reduce(into: []) { words, file in for line in file.lines { words.formUnion(line.words) } }
  }

  private static func withoutTests(_ text: SwiftText) -> SwiftText {
    var indices: Set<Int> = []
    for (index, line) in text.lines.enumerated() where line.code.hasPrefix("@Test") {
      indices.formUnion(index...Self.end(of: index, in: text))
    }
    return text.blanking(indices)
  }

  /// Names of the suites that a file declares or extends.
  private static func suites(of text: SwiftText) -> Set<Substring> {
    var suites: Set<Substring> = []
    for (index, line) in text.lines.enumerated() {
      if line.words.count > 2, line.words[..<2] == ["extension", "EndToEnd"] { suites.insert(line.words[2]) }
      // The attribute may be two lines long.
      guard let keyword = line.words.firstIndex(where: { $0 == "struct" || $0 == "enum" }),
        keyword + 1 < line.words.count,
        text.lines[max(0, index - 2)...index].contains(where: { $0.code.hasPrefix("@Suite") })
      else { continue }
      suites.insert(line.words[keyword + 1])
    }
    return suites
  }

  /// Readings of the real clock from which an elapsed time is computed.
  nonisolated(unsafe) private static let elapsed =
    // Safe because a literal of an expression is immutable, which its type does not say.
    #/(?:ContinuousClock(?:\(\))?\.now|SuspendingClock(?:\(\))?\.now|StreamClock\.system\.now\(\)|DispatchTime\.now\(\)|Date\(\)|(?:^|[\s(])\.now) - /#

  /// No verdict demands that something took less than some real time: neither directly, nor by a constant of it.
  static func realTimeBounds(in text: SwiftText) -> [Violation] {
    let durations = Set(
      text.lines.compactMap { line -> Substring? in
        guard Self.isElapsed(line) else { return nil }
        guard let keyword = line.words.firstIndex(where: { $0 == "let" || $0 == "var" }) else {
          return line.code.contains(#/^\w+ = /#) ? line.words.first : nil
        }
        return keyword + 1 < line.words.count ? line.words[keyword + 1] : nil
      })
    return text.lines.enumerated().compactMap { index, line in
      guard line.code.has("#expect(") || line.code.has("#require(") else { return nil }
      let lines = text.lines[index...Self.endOfCall(index, in: text)]
      guard !lines.contains(where: { $0.code.has("onQuietMachine(") }),
        lines.contains(where: { Self.isElapsed($0) || $0.words.contains(where: durations.contains) })
      else { return nil }
      let isUpper = lines.contains { $0.code.contains(#/(?:^|[^<>])<=? /#) || $0.code.has(".contains(") }
      guard isUpper, !Self.isJustified(index, in: text) else { return nil }
      return Violation(
        path: text.path, line: line.number, message: "an upper bound on real time; see onQuietMachine: \(line.text)")
    }
  }

  private static func isElapsed(_ line: SwiftText.Line) -> Bool {
    // Most lines have no subtraction, which is soon found.
    line.code.utf8.contains(UInt8(ascii: "-")) && line.code.contains(Self.elapsed)
      || line.code.has("lock.measure {") || line.code.has("lock().measure {")
  }

  /// Index of the line with the end of a call, by its parentheses; a call of more than eight lines is cut.
  private static func endOfCall(_ index: Int, in text: SwiftText) -> Int {
    var depth = 0
    for end in index..<min(index + 8, text.lines.count) {
      for character in text.lines[end].code.utf8 {
        if character == UInt8(ascii: "(") { depth += 1 }
        if character == UInt8(ascii: ")") { depth -= 1 }
      }
      if depth <= 0 { return end }
    }
    return min(index + 8, text.lines.count) - 1
  }

  /// Limits of suites and tests in minutes, of processes, and of waits by a real clock in seconds.
  nonisolated(unsafe) private static let limit =
    // Safe because a literal of an expression is immutable, which its type does not say.
    #/\.timeLimit\(\.minutes\(([0-9_]+)\)|\balarm\(([0-9_]+)\)|(?:StreamClock\.system\.now\(\)|ContinuousClock\.now|timeout: \.now\(\)) \+ \.seconds\(([0-9_]+)\)/#

  /// Other spellings of a limit, each with text that it has: of sockets, of what collects for a test, of processes, and of the program,
  /// whose limits in tests are under ten seconds where a test is about them, and otherwise out of reach.
  nonisolated(unsafe) private static let otherLimits: [(mark: String, units: Int, Regex<(Substring, Substring)>)] = [
    // Safe because a literal of an expression is immutable, which its type does not say.
    ("tv_sec: ", 1, #/timeval\(tv_sec: ([0-9_]+)/#),
    ("poll(", 1000, #/(?:^|[^.\w])poll\(.*, ([1-9][0-9_]*)\)/#),
    ("connectTimeout(", 1, #/connectTimeout\(\.seconds\(([0-9_]+)\)/#),
    ("within: ", 1, #/(?:^|[ (])within: ([1-9][0-9_]*)(?:[,) ]|$)/#),
    ("within: ", 1, #/\.(?:end|finish|reply|answer|receive|isClosed)\(.*within: \.seconds\(([0-9_]+)\)/#),
    ("imit", 1, #/imits?[.(].*\.seconds\(([1-9][0-9]|[12][0-9][0-9])\)/#),
    ("imeout", 1, #/imeouts?(?:: | = )[^,]*\.seconds\(([1-9][0-9]|[12][0-9][0-9])\)/#),
  ]

  /// No limit of a test is under five minutes, since it counts the wait for a thread.
  static func shortLimits(in text: SwiftText) -> [Violation] {
    text.lines.enumerated().compactMap { index, line in
      guard let seconds = Self.limit(of: line), seconds < 300, !Self.isJustified(index, in: text) else { return nil }
      return Violation(path: text.path, line: line.number, message: "a limit under five minutes: \(line.text)")
    }
  }

  /// The limit of a line in seconds.
  private static func limit(of line: SwiftText.Line) -> Int? {
    let limiting: Set<Substring> = ["timeLimit", "alarm", "seconds"]
    func integer(_ digits: Substring?) -> Int? { digits.flatMap { Int($0.filter { $0 != "_" }) } }
    if line.words.contains(where: limiting.contains), let match = line.code.firstMatch(of: Self.limit) {
      return integer(match.1).map { $0 * 60 } ?? integer(match.2) ?? integer(match.3) ?? 0
    }
    for (mark, units, limit) in Self.otherLimits where line.code.has(mark) {
      if let number = integer(line.code.firstMatch(of: limit)?.1) { return number / units }
    }
    // Of curl, in a command of a shell.
    guard line.text.has("max-time ") else { return nil }
    return line.text.firstMatch(of: #/max-time ([0-9]+)/#).flatMap { integer($0.1) }
  }

  /// No call waits for bytes, or for a client, for ever: the socket has a limit (`WaitLimit.apply(to:)`) or does not block, or it is known
  /// to be ready.
  static func unlimitedReads(in text: SwiftText) -> [Violation] {
    let limited = text.lines.contains { line in
      line.code.has("WaitLimit.apply(") || line.words.contains("O_NONBLOCK") || line.words.contains("SO_RCVTIMEO")
    }
    if limited { return [] }
    return text.lines.enumerated().compactMap { index, line in
      guard ["recv", "accept(", "read("].contains(where: line.code.has), !line.words.contains("func"),
        !line.words.contains("MSG_DONTWAIT"),
        line.code.contains(
          #/(?:^|[^.\w])(?:Glibc\.|Foundation\.)?(?:(?:recv|recvfrom|recvmsg|accept)\(|read\([\w.]+, &)/#),
        !text.lines[max(0, index - 6)...index].contains(where: { $0.code.has("poll(") }),
        !Self.isJustified(index, in: text)
      else { return nil }
      return Violation(path: text.path, line: line.number, message: "a read without a limit: \(line.text)")
    }
  }

  /// No wait goes on for ever: loops that wait, sequences of events, semaphores without a timeout, and programs. The time limit of a
  /// suite or test ends a sequence of events, and loops that check for cancellation.
  static func unboundedWaits(in text: SwiftText) -> [Violation] {
    let limited = Self.linesWithLimit(in: text)
    let waiting: Set<Substring> = ["await", "wait", "while", "repeat", "waitUntilExit", "readDataToEndOfFile"]
    return text.lines.enumerated().compactMap { index, line in
      guard line.words.contains(where: waiting.contains) else { return nil }
      let hasLimit = limited.contains(index)
      let follows =
        ["for await ", "for try await "].contains(where: line.code.has) && !line.words.contains("group") && !hasLimit
      let isEnded = line.words.contains("await") && hasLimit
      let waits =
        line.code.has(".wait()") && !isEnded && !line.code.contains(#/(?:close|connect|bind)\(.*\)\.wait\(\)/#)
      let isOfProgram = line.words.contains { $0 == "waitUntilExit" || $0 == "readDataToEndOfFile" }
      guard follows || waits || isOfProgram || Self.isEndlessLoop(index, in: text), !Self.isJustified(index, in: text)
      else { return nil }
      return Violation(path: text.path, line: line.number, message: "a wait without a limit: \(line.text)")
    }
  }

  /// Whether a loop begins at a line that waits, and neither reads a clock, nor checks for cancellation, nor follows a sequence.
  private static func isEndlessLoop(_ index: Int, in text: SwiftText) -> Bool {
    let line = text.lines[index]
    guard line.words.prefix(2).contains(where: { $0 == "while" || $0 == "repeat" }),
      line.code.contains(#/^(?:[a-z]+: )?(?:while|repeat)\b/#)
    else { return false }
    let lines = text.lines[index...Self.end(of: index, in: text)]
    func has(_ words: Set<Substring>) -> Bool { lines.contains { $0.words.contains(where: words.contains) } }
    return has(["await", "sched_yield", "usleep"]) && !has(["checkCancellation", "isCancelled", "now"])
      && !lines.contains { $0.code.has(".next(") }
  }

  /// Indices of the lines of suites and tests with a time limit.
  private static func linesWithLimit(in text: SwiftText) -> IndexSet {
    var lines = IndexSet()
    for (index, line) in text.lines.enumerated() where line.words.contains("timeLimit") {
      lines.insert(integersIn: index...Self.end(of: index, in: text))
    }
    return lines
  }

  /// Index of the last line of a loop or declaration, which may have attributes, by its braces.
  private static func end(of index: Int, in text: SwiftText) -> Int {
    var depth = 0
    for (end, line) in text.lines.enumerated().dropFirst(index) {
      for character in line.code.utf8 {
        if character == UInt8(ascii: "{") { depth += 1 }
        if character == UInt8(ascii: "}") { depth -= 1 }
      }
      if depth <= 0, line.code.hasSuffix("}") || line.code.hasPrefix("}") { return end }
    }
    return text.lines.count - 1
  }

  /// A comment "A process of its own: …" or "Processes of their own: …" before an exit test says why it starts the tests' own
  /// program again, where a program of the project or a value in the same process would do.
  static func unexplainedExitTests(in text: SwiftText) -> [Violation] {
    let reasons = ["// A process of its own: ", "// Processes of their own: "]
    let reason = text.lines.firstIndex { line in reasons.contains { line.text.hasPrefix($0) } } ?? text.lines.count
    return text.lines[..<reason].compactMap { line in
      guard line.words.contains("processExitsWith") else { return nil }
      return Violation(path: text.path, line: line.number, message: "an exit test without a reason: \(line.text)")
    }
  }

  /// No server of a test listens at a port that another program may have.
  static func fixedPorts(in text: SwiftText) -> [Violation] {
    text.lines.enumerated().compactMap { index, line in
      // Regular expressions are parsed each time: few lines have one of these texts.
      let listens =
        line.code.has("ort: ") && line.code.contains(#/(?:bind|listen|Listener|Server|Settings)\(.*[pP]ort: [1-9]/#)
      let isOption =
        text.path.hasPrefix("/Tests/EndToEndTests/") && line.text.has("port\", \"")
        && line.text.contains(#/"--[a-z-]*port", "[1-9]/#)
      guard listens || isOption, !Self.isJustified(index, in: text) else { return nil }
      return Violation(path: text.path, line: line.number, message: "a fixed port: \(line.text)")
    }
  }

  /// No file of `/proc` is read by a function that reads no more than 4 KiB of such a file.
  static func partialReads(in text: SwiftText) -> [Violation] {
    text.lines.compactMap { line in
      // A regular expression is parsed each time: few lines have its beginning.
      guard line.text.has("contentsOf"),
        line.text.contains(#/contentsOf(?:File)?: .*(?:"/proc/|/(?:comm|maps|schedstat|smaps|statm?|status)["/])/#)
      else { return nil }
      return Violation(path: text.path, line: line.number, message: "use String(systemFile:): \(line.text)")
    }
  }

  /// ffmpeg decodes without writing by ``FFmpeg/decoding`` only: by default its timestamps are multiples of a frame rate that it guesses,
  /// and it complains of frames that come closer, as on a busy machine.
  static func guessedFrameRates(in text: SwiftText) -> [Violation] {
    text.lines.compactMap { line in
      guard line.text.has(#""-f", "null""#), !line.text.has("eachFrame"), !line.text.has("\"copy\"")
      else {
        return nil
      }
      return Violation(path: text.path, line: line.number, message: "use FFmpeg.decoding: \(line.text)")
    }
  }

  private static func isJustified(_ index: Int, in text: SwiftText) -> Bool {
    text.lines[max(0, index - 6)...index].contains { $0.text.has("// Safe because ") }
  }
}
