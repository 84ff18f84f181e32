import Testing

@Suite("Vocabulary")
struct VocabularyTests {
  @Test func `identifiers that were replaced do not come back`() throws {
    let files = try Repository.codeFiles(
      in: "Sources", "Tests", "Examples", "FuzzTesting", "Benchmarks", "Package.swift")
    for ending in [".swift", ".c", ".h", ".py", ".mjs"] {
      #expect(files.count { $0.path.hasSuffix(ending) } >= 15, "\(ending)")
    }
    #expect(files.contains { $0.path == "/Package.swift" })
    #expect(files.filter { !$0.path.hasSuffix("/Vocabulary.swift") }.flatMap(SourceRules.vocabulary) == [])
  }

  @Test func `comments and test names use the field's words`() throws {
    let files = try Repository.comments(
      in: "Sources", "Tests", "Examples", "FuzzTesting", "Benchmarks", "scripts", "docs", "Packaging", ".ci",
      "README.md", "Package.swift")
    #expect(files.count { $0.path.hasSuffix(".py") } >= 15)
    #expect(files.count { $0.path.hasSuffix(".mjs") } >= 20)
    for path in [
      "/scripts/setup", "/scripts/rooms.bash", "/README.md", "/docs/watching.md", "/Packaging/postinst", "/.ci/run",
      "/Package.swift",
    ] {
      #expect(files.contains { $0.path == path && !$0.comments.isEmpty }, "\(path)")
    }
    let checked = files.filter {
      !$0.path.hasSuffix("/Vocabulary.swift") && !$0.path.hasSuffix("/VocabularyTests.swift")
    }
    #expect(checked.flatMap(SourceRules.wording) == [])
  }

  @Test(arguments: [
    ("let queue = VideoMailbox()", true), ("func lastPicture()", true), ("struct SoundLevel {", true),
    ("let pictures = 1", true), ("func soundFormat()", true), ("let pictureParameterSets = 1", false),
    ("let set: H264PictureParameterSet", false), ("// VideoMailbox", false), ("let a = \"mailbox\"", false),
    ("let frame: VideoFrame", false), ("func maySteer() {}", true), ("var steerable = false", false),
    ("let longestWait = 1", true), ("var mostRecent = 1", true), ("let almostDone = 1", false),
    ("let least = 1", true), ("let longest = 1", true), ("var greatest = 1", true), ("let waitLeast = 1", true),
    ("let waitLongest = 1", true), ("let sumGreatest = 1", true), ("f(atLeast: 1)", false),
    ("func samplesAtLeast() {}", false), ("let a = \"least\"", false), ("// let least = 1", false),
    ("func `the least`() {}", false), ("let leastways = 1", false),
    ("func greatestCommonDivisor() {}", false), ("let neighbours = 1", true), ("let a: ColourDescription", false),
  ])
  func `a replaced identifier is found in code only`(source: String, isFound: Bool) {
    let text = SwiftText(path: "A.swift", text: source)
    #expect(SourceRules.vocabulary(of: text).map(\.line) == (isFound ? [1] : []))
  }

  @Test(arguments: [
    ("/// The last picture.", true), ("let a = 1  // Starts anew.", true), ("/// The picture parameter set.", false),
    ("/// The last frame.", false), ("let picture = 1", false), ("let url = \"rtsp://host/picture\"", false),
    ("/* The last\n picture. */", true), ("/// Hands over the frame.", true),
    ("/// Takes it in both hands, overhead.", false),
    ("@Test func `a viewer is told`() {}", true), ("@Test func `a viewer is notified`() {}", false),
    ("@Suite(\"Sounds\") struct A {}", true), ("test(\"the picture\", () => {});", true),
    ("/// A grey frame.", true), ("/// `colour_primaries`.", false), ("/// The present source.", true),
    ("/// A source that is present.", false), ("/// The present state.", true), ("/// Bytes handed to it.", true),
    ("/// Four neighbours.", true), ("/// Free artefacts.", true),
  ])
  func `a word with a better term is found in comments and test names only`(source: String, isFound: Bool) {
    let text = CommentText(path: "A.swift", text: source)
    #expect(!SourceRules.wording(of: text).isEmpty == isFound)
  }

  @Test(arguments: [
    ("# The nets.", true), ("#!/usr/bin/picture", false), ("x = 1  # Told.", true), ("x = \"# told\"", false),
    ("def f():\n    \"\"\"The picture.\"\"\"", true), ("\"\"\"One\npicture.\"\"\"\n", true),
    ("x = f(\"\"\"\npicture\n\"\"\")", false), ("\"\"\"One.\"\"\"\npicture = 1", false),
    ("x = \"\"\"\na\n\"\"\"\npicture = 1", false), ("x = \"\"\"\n# picture\n\"\"\"\n", false),
    ("x = \"\"\"\na\n\"\"\"\n# The picture.", true), ("x = \"\"\"\na\n\"\"\"\ny = 1  # The picture.", true),
  ])
  func `comments and docstrings of Python are checked, other strings are not`(source: String, isFound: Bool) {
    #expect(!SourceRules.wording(of: CommentText(path: "a.py", text: source)).isEmpty == isFound)
  }

  @Test(arguments: [
    ("a.c", "int neighbours(void);", true), ("a.h", "// neighbours", false), ("a.mjs", "let longestWait = 1;", true),
    ("a.c", "int least;", true), ("a.c", "int wait_longest;", true), ("a.c", "#define SUM_GREATEST 1", true),
    ("a.c", "uint_least8_t a;", false), ("a.py", "longest = 1", true), ("a.mjs", "let least = 1;", true),
    ("a.py", "wait(at_least=1)", false),
    ("a.py", "colours = 1", true), ("a.py", "x = 1  # colours", false), ("a.py", "\"\"\"Colours.\"\"\"", false),
  ]) func `identifiers of other languages are checked`(path: String, source: String, isFound: Bool) {
    #expect(!SourceRules.vocabulary(of: SwiftText(path: path, text: source)).isEmpty == isFound)
  }

  @Test func `messages to users use the field's words`() throws {
    let files = try Repository.codeFiles(in: "Sources")
    #expect(files.contains { $0.path.hasSuffix(".mjs") && !$0.strings.isEmpty })
    #expect(files.reduce(0) { $0 + $1.strings.count } > 1000)
    #expect(files.flatMap(SourceRules.messages) == [])
  }

  @Test(arguments: [
    ("a.swift", "let a = \"too many; ask again\"", true), ("a.swift", "// ask again", false),
    ("a.swift", ##"f("\(g("a smaller picture"))")"##, true), ("a.swift", "// picture", false),
    ("a.swift", "let a = \"picture parameter set\"", false),
    ("a.swift", "let a = \"numOfPictureParameterSets\"", false),
    ("a.swift", "let a = #\"devices that do not answer\"#", true), ("a.swift", "func `may watch`() {}", false),
    ("a.mjs", "f(`${name} may watch`);", true), ("a.mjs", "f(\"picture-in-picture\");", false),
    ("a.c", "puts(\"does not answer\");", true), ("a.swift", "let a = \"try again\"", false),
  ]) func `a phrase with a better one is found in strings only`(path: String, source: String, isFound: Bool) {
    let text = SwiftText(path: path, text: "let b = \"\"\n\(source)\n")
    #expect(SourceRules.messages(of: text).map(\.line) == (isFound ? [2] : []))
  }

  @Test func `a phrase over two lines of a string is found at its beginning`() {
    let text = SwiftText(
      path: "a.swift", text: "let a = 1\nlet help = \"\"\"\n  a user who may \\\n  watch\n  \"\"\"\n")
    #expect(SourceRules.messages(of: text).map(\.line) == [2])
  }

  @Test func `Markdown is checked, but for code and dated decisions`() {
    let text = "# Pictures\n\nA `picture` is\n```sh\n# The picture.\n```\ntold.\n"
    #expect(SourceRules.wording(of: CommentText(path: "/docs/a.md", text: text)).map(\.line) == [1, 7])
    #expect(SourceRules.wording(of: CommentText(path: "/docs/decisions/a.md", text: text)) == [])
  }

  @Test func `comments of shell scripts are checked`() {
    let text = CommentText(path: "scripts/setup", text: "#!/bin/sh\n# Fetches nets.\necho nets\n")
    #expect(SourceRules.wording(of: text).map(\.line) == [2])
  }
}
