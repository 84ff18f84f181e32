/// Rules for the tests of the gate, whose verdict must not depend on how fast the machine is. An exception has a comment
/// "// Safe because …" within six lines.
enum GateRules {
  /// Whether a file belongs to the tests of the gate, or to what they share; the long suite may judge time.
  static func apply(to path: String) -> Bool {
    !path.hasPrefix("/Tests/EndToEndTests/") || path.hasPrefix("/Tests/EndToEndTests/Smoke/")
  }

  /// Readings of the real clock from which an elapsed time is computed.
  nonisolated(unsafe) private static let elapsed =
    // Safe because a literal of an expression is immutable, which its type does not say.
    #/(?:ContinuousClock(?:\(\))?\.now|SuspendingClock(?:\(\))?\.now|StreamClock\.system\.now\(\)|DispatchTime\.now\(\)|Date\(\)|(?:^|[\s(])\.now) - /#

  /// No verdict demands that something took less than some real time: neither directly, nor by a constant of it.
  static func realTimeBounds(in text: SwiftText) -> [Violation] {
    let durations = Set(
      text.lines.compactMap { line -> Substring? in
        guard Self.isElapsed(line),
          let equals = line.words.firstIndex(where: { $0 == "let" || $0 == "var" }),
          equals + 1 < line.words.count
        else { return nil }
        return line.words[equals + 1]
      })
    return text.lines.enumerated().compactMap { index, line in
      guard line.code.contains("#expect(") || line.code.contains("#require("), !line.code.contains("onQuietMachine(")
      else { return nil }
      let isElapsed = Self.isElapsed(line) || line.words.contains(where: durations.contains)
      let isUpper =
        line.code.contains(#/(?:^|[^<>])<=? /#) || line.code.contains(".contains(")
      guard isElapsed, isUpper, !Self.isJustified(index, in: text) else { return nil }
      return Violation(
        path: text.path, line: line.number, message: "an upper bound on real time; see onQuietMachine: \(line.text)")
    }
  }

  private static func isElapsed(_ line: SwiftText.Line) -> Bool {
    // Most lines have no subtraction, which is soon found.
    line.code.utf8.contains(UInt8(ascii: "-")) && line.code.contains(Self.elapsed)
  }

  /// No limit of a test is under five minutes, since it counts the wait for a thread.
  static func shortLimits(in text: SwiftText) -> [Violation] {
    text.lines.compactMap { line in
      guard line.words.contains("timeLimit"),
        let match = line.code.firstMatch(of: #/\.timeLimit\(\.minutes\(([0-9]+)\)\)/#), Int(match.1) ?? 0 < 5
      else {
        return nil
      }
      return Violation(path: text.path, line: line.number, message: "a limit under five minutes: \(line.text)")
    }
  }

  /// No wait goes on for ever: loops that only poll, sequences of events, and semaphores without a timeout. The time limit of a
  /// suite ends a sequence of events.
  static func unboundedWaits(in text: SwiftText) -> [Violation] {
    let hasLimit = text.lines.contains { $0.words.contains("timeLimit") }
    return text.lines.enumerated().compactMap { index, line in
      guard line.words.contains(where: { $0 == "await" || $0 == "wait" }) else { return nil }
      let polls = line.code.contains(#/while .*await .*\{ *\}$/#) && !hasLimit
      let follows = line.code.contains(#/for (?:try )?await /#) && !line.words.contains("group") && !hasLimit
      let isEnded = line.words.contains("await") && hasLimit
      let waits =
        line.code.contains(".wait()") && !isEnded && !line.code.contains(#/(?:close|connect|bind)\(.*\)\.wait\(\)/#)
      guard polls || follows || waits, !Self.isJustified(index, in: text) else { return nil }
      return Violation(path: text.path, line: line.number, message: "a wait without a limit: \(line.text)")
    }
  }

  /// No server of a test listens at a port that another program may have.
  static func fixedPorts(in text: SwiftText) -> [Violation] {
    text.lines.enumerated().compactMap { index, line in
      guard line.text.contains("ort") else { return nil }
      let listens = line.code.contains(#/(?:bind|listen|Listener|Server|Settings)\(.*[pP]ort: [1-9]/#)
      let isOption =
        text.path.hasPrefix("/Tests/EndToEndTests/") && line.text.contains(#/"--[a-z-]*port", "[1-9]/#)
      guard listens || isOption, !Self.isJustified(index, in: text) else { return nil }
      return Violation(path: text.path, line: line.number, message: "a fixed port: \(line.text)")
    }
  }

  /// No file of `/proc` is read by a function that reads no more than 4 KiB of such a file.
  static func partialReads(in text: SwiftText) -> [Violation] {
    text.lines.compactMap { line in
      guard line.text.contains(#/contentsOf(?:File)?: .*"/proc/#) else { return nil }
      return Violation(path: text.path, line: line.number, message: "use String(systemFile:): \(line.text)")
    }
  }

  /// ffmpeg decodes without writing by ``FFmpeg/decoding`` only: by default its timestamps are multiples of a frame rate that it guesses,
  /// and it complains of frames that come closer, as on a busy machine.
  static func guessedFrameRates(in text: SwiftText) -> [Violation] {
    text.lines.compactMap { line in
      guard line.text.contains(#""-f", "null""#), !line.text.contains("eachFrame"), !line.text.contains("\"copy\"")
      else {
        return nil
      }
      return Violation(path: text.path, line: line.number, message: "use FFmpeg.decoding: \(line.text)")
    }
  }

  private static func isJustified(_ index: Int, in text: SwiftText) -> Bool {
    text.lines[max(0, index - 6)...index].contains { $0.text.contains("// Safe because ") }
  }
}
