import Testing

/// The rule for the first words of comments finds what breaks it, in every language, and only that.
@Suite("First words of comments")
struct FirstWordsTests {
  private static func violations(_ path: String, _ source: String) -> [Violation] {
    SourceRules.firstWords(of: CommentText(path: path, text: source))
  }

  private static func lines(_ path: String, _ source: String) -> [Int] { self.violations(path, source).map(\.line) }

  /// The first comment of a file, with text as documentation, by language.
  private static func documentation(_ text: String) -> [(path: String, source: String)] {
    [
      ("a.swift", "/// \(text)\nlet a = 1"), ("a.swift", "  /// \(text)"), ("a.swift", "// MARK: \(text)"),
      ("a.swift", "  // MARK: - \(text)"), ("a.h", "/// \(text)\nint a;"), ("a.inc", "/// \(text)"),
      ("a.mjs", "/** \(text) */\nlet a;"), ("a.mjs", "  /** \(text)\n   * More. */"),
      ("a.py", "\"\"\"\(text)\"\"\"\na = 1"), ("a.py", "    \"\"\"\(text)\n    More.\"\"\""),
    ]
  }

  /// The first comment of a file, with text for readers of the code below, by language.
  private static func remarks(_ text: String) -> [(path: String, source: String)] {
    [
      ("a.swift", "// \(text)\nlet a = 1"), ("a.c", "  // \(text)"), ("a.mjs", "// \(text)"), ("a.c", "/* \(text) */"),
      ("a.css", "/* \(text)\n * More. */"), ("a.py", "# \(text)"), ("a.py", "    # \(text)\na = 1"),
      ("scripts/test", "# \(text)"), ("a.conf", "# \(text)"), ("a.sh", "  # \(text)"),
    ]
  }

  @Test(arguments: [
    "As ffmpeg writes it.", "How it is sent.", "It is done.", "Its length.", "Nothing of the key.", "Since when.",
    "Such as 1.", "That of the track.", "These channels.", "This transport.", "Those of the track.",
    "What was dropped.", "Whatever comes.", "When it was found.", "Whenever it fits.", "Where media is sent.",
    "Wherever it lies.", "Which one is sent.", "Who starts.", "Whoever asks.", "Whose it is.", "What, and when.",
  ]) func `documentation that poses a riddle is found`(text: String) {
    for (path, source) in Self.documentation(text) { #expect(Self.lines(path, source) == [1], "\(path): \(source)") }
  }

  @Test(arguments: [
    "How it is sent.", "It waits.", "Nothing is sent.", "That of the key.", "These are dropped.", "Those of the track.",
    "What is old.", "When it ends.", "Where it ends.", "Which of the two is open.", "Who asks is answered.",
  ]) func `another comment that poses a riddle is found`(text: String) {
    for (path, source) in Self.remarks(text) { #expect(Self.lines(path, source) == [1], "\(path): \(source)") }
  }

  @Test(arguments: ["Handles received bytes.", "Notes a packet.", "Takes ownership of the memory."])
  func `a verb that says nothing is found, and the message has others`(text: String) {
    for (path, source) in Self.documentation(text) + Self.remarks(text) {
      let found = Self.violations(path, source)
      #expect(found.map(\.line) == [1], "\(path): \(source)")
      #expect(found.first?.message.contains("such as ") == true, "\(found)")
    }
  }

  @Test(arguments: [
    "Whatsoever.", "Items of a list.", "Asynchronous.", "Howitzer.", "A frame. It is dropped.", "`What` is sent.",
    "1. What is sent.", "Sinces.", "Handle of a file.", "Taken by another one.", "Note of an event.", "what is sent",
  ]) func `a comment that begins with a thing or a verb is allowed`(text: String) {
    for (path, source) in Self.documentation(text) + Self.remarks(text) {
      #expect(Self.lines(path, source) == [], "\(path): \(source)")
    }
  }

  @Test(arguments: [
    "As before.", "Its number is known.", "Since it waits.", "Such a frame is dropped.", "This one waits.",
  ])
  func `a comment on the code below may go on from it`(text: String) {
    for (path, source) in Self.remarks(text) { #expect(Self.lines(path, source) == [], "\(path): \(source)") }
  }

  @Test(
    arguments: [
      // Lines of a comment, the first of which may have its mark alone.
      ("a.swift", "/// A queue.\n/// What is sent.", []), ("a.swift", "// A queue.\n//\n// It waits.", []),
      ("a.swift", "///\n/// What is sent.", [2]), ("a.mjs", "/**\n * What is sent.\n * What is sent.\n */", [2]),
      ("a.py", "\"\"\"\nWhat is sent.\nWhat is sent.\n\"\"\"", [2]), ("a.css", "/*\nA color.\nIt is dark.\n*/", []),
      ("a.sh", "#!/bin/sh\n# It runs.\n# It runs.", [2]),
      ("a.py", "#!/usr/bin/env python3\n\"\"\"What runs.\"\"\"", [2]),
      // Comments that follow others.
      ("a.swift", "/// A queue.\n// It waits.", [2]), ("a.swift", "// A queue.\n/// What is sent.", [2]),
      ("a.swift", "// MARK: Queues\n// It waits.", [2]), ("a.swift", "// MARK: Queues\n// MARK: What waits", [2]),
      ("a.swift", "// It waits.\n\n// It waits.", [1, 3]), ("a.swift", "let a = 1  // A queue.\n// It waits.", [2]),
      ("a.mjs", "/** A queue. */\n/** What is sent. */", [2]), ("a.py", "\"\"\"A.\"\"\"\n\"\"\"What.\"\"\"", [2]),
      ("a.py", "x = \"\"\"\na\n\"\"\"\ndef f():\n    \"\"\"What is sent.\"\"\"\n    # It waits.", [5, 6]),
      // Comments behind code, strings, names, and text that is no comment.
      ("a.swift", "let a = 1  // What is sent.", []), ("a.c", "int a;  // It waits.", []),
      ("a.py", "a = 1  # It waits.", []), ("a.swift", "let a = \"// What is sent.\"", []),
      ("a.swift", "@Test func `What is sent`() {}", []),
      ("a.py", "x = \"\"\"\n# It waits.\nWhat is sent.\n\"\"\"", []), ("a.md", "# What it is\n\nIt is a camera.", []),
    ] as [(String, String, [Int])]) func `the first words of a comment count`(
      path: String, source: String, lines: [Int]
    )
  {
    #expect(Self.lines(path, source) == lines)
  }
}
