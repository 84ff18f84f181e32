import Testing

@Suite("Vocabulary")
struct VocabularyTests {
  @Test func `identifiers that were replaced do not come back`() throws {
    let files = try Repository.swiftFiles(in: "Sources", "Tests", "Examples", "FuzzTesting", "Benchmarks")
    #expect(files.filter { !$0.path.hasSuffix("/Vocabulary.swift") }.flatMap(SourceRules.vocabulary) == [])
  }

  @Test func `comments use the field's words`() throws {
    let files = try Repository.swiftFiles(in: "Sources", "Examples")
    #expect(files.flatMap(SourceRules.wording) == [])
  }

  @Test(arguments: [
    ("let queue = VideoMailbox()", true), ("func lastPicture()", true), ("struct SoundLevel {", true),
    ("let set: H264PictureParameterSet", false), ("// VideoMailbox", false), ("let a = \"mailbox\"", false),
    ("let frame: VideoFrame", false),
  ])
  func `a replaced identifier is found in code only`(source: String, isFound: Bool) {
    let text = SwiftText(path: "A.swift", text: source)
    #expect(SourceRules.vocabulary(of: text).map(\.line) == (isFound ? [1] : []))
  }

  @Test(arguments: [
    ("/// The last picture.", true), ("let a = 1  // Starts anew.", true), ("/// The picture parameter set.", false),
    ("/// The last frame.", false), ("let picture = 1", false),
  ])
  func `a word with a better term is found in comments only`(source: String, isFound: Bool) {
    let text = SwiftText(path: "A.swift", text: source)
    #expect(SourceRules.wording(of: text).map(\.line) == (isFound ? [1] : []))
  }
}
