import Testing

/// Every rule finds what breaks it, and only that.
@Suite("Rules of the repository")
struct SourceRulesTests {
  private func text(_ lines: String...) -> SwiftText {
    SwiftText(path: "A.swift", text: lines.joined(separator: "\n") + "\n")
  }

  private func lines(_ violations: [Violation]) -> [Int] {
    violations.map(\.line)
  }

  @Test(arguments: [
    ("let a = 1 // b", "let a = 1"),
    ("let a = /* b /* c */ d */ 1", "let a =  1"),
    (#"f("a // b", c)"#, #"f("", c)"#),
    (#"f("a \" b", c)"#, #"f("", c)"#),
    (#"f("a \(b("c") + d) e")"#, #"f("" b("") + d )"#),
    (##"f(#"a " \( b"#, c)"##, #"f("", c)"#),
    ("@Test func `a \"b`() {", "@Test func () {"),
    ("#if DEBUG", "#if DEBUG"),
    ("let a = /\"/ // b", #"let a = /"""#),
  ]) func `code is distinguished from comments and strings`(source: String, code: String) {
    #expect(self.text(source).lines[0].code == code)
  }

  @Test func `a string over several lines keeps the line numbers`() {
    let text = self.text("let a = \"\"\"", "  fatalError() // \\\\(b", "  \"\"\"", "/* c", "*/ d")
    #expect(text.lines.map(\.code) == ["let a = \"\"", "", "", "", "d", ""])
  }

  @Test(arguments: [
    ("import Foundation", "Foundation"), ("public import Media", "Media"),
    ("@_exported public import Capture", "Capture"), ("@testable import RTP", "RTP"),
    ("internal import struct Foundation.Date", "Foundation"), ("  import func Glibc.read", "Glibc"),
  ]) func `every way to import is found`(source: String, module: String) {
    #expect(self.text(source).imports.map(\.module) == [module])
  }

  @Test(arguments: ["// import Foundation", "let a = \"import Foundation\"", "case .import: break"])
  func `text that resembles an import is not one`(source: String) {
    #expect(self.text(source).imports.isEmpty)
  }

  @Test(arguments: [
    "try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: false) { _ in }",
    "return .init(notPrivate: frame)",
    "struct Anything: ReleaseMark {}", "func show(_ mark: some ReleaseMark) {",
    "let mark = PrivacyMark(processedBy: effect)",
    "let covered = CoveredFrame(whole: frame)", "self.replacingFrame(by: other)",
    "func encode(_ frame: VideoFrame) {",
  ]) func `a frame that is released past the chain of effects is found`(code: String) {
    #expect(self.lines(SourceRules.releases(of: self.text("// notPrivate:", code))) == [2])
  }

  @Test func `frames that are released are encoded`() {
    let text = self.text(
      "func encode(_ frame: ReleasedFrame) {", "encoder.encode(frame, forcesKeyframe: false) { _ in }")
    #expect(SourceRules.releases(of: text) == [])
  }

  @Test(arguments: [
    ("Media", "Foundation"), ("Media", "NIOPosix"), ("Bitstreams", "NIO"), ("RTP", "Dispatch"), ("RTSP", "Glibc"),
    ("RTSP", "Darwin"), ("RTP", "CCapture"), ("RTSP", "Crypto"),  // Modules that are not for pure targets.
    ("Media", "Bitstreams"), ("RTP", "Capture"), ("Capture", "Codecs"), ("Capture", "MediaInput"),
    ("Streaming", "RTSPServer"),
    ("Vidicon", "VidiconCommand"),  // Targets above.
    ("Streaming", "NIOPosix"), ("Capture", "Yams"),  // Modules for edges.
    ("Attic", "Media"),  // A target without a floor.
    // Modules of other targets.
    ("Capture", "CXCB"), ("Streaming", "CALSA"), ("MediaInput", "CV4L2"), ("Recording", "CLibav"),
    ("Capture", "Glibc"), ("Authentication", "CCryptography"), ("HTTPServer", "CCryptography"),
  ]) func `an import that points up is found`(room: String, module: String) {
    #expect(self.lines(SourceRules.imports(of: self.text("import \(module)"), in: room)) == [1])
  }

  @Test(arguments: [
    ("Media", "NIOCore"), ("Media", "Synchronization"), ("RTSP", "Cryptography"), ("Cryptography", "CCryptography"),
    ("RTP", "Bitstreams"), ("Capture", "Libc"), ("CaptureDevices", "CXCB"), ("Codecs", "CLibav"),
    ("Streaming", "Codecs"),
    ("RTSPServer", "NIOPosix"), ("VidiconCommand", "Foundation"),
  ]) func `an import that points down is allowed`(room: String, module: String) {
    #expect(SourceRules.imports(of: self.text("import \(module)"), in: room) == [])
  }

  @Test(arguments: [
    "let now = ContinuousClock().now", "let now = Date()", "Task { }", "func f() async {", "let a: any EventLoop",
    "clock_gettime(CLOCK_REALTIME, &time)", "let a = UInt32.random(in: 0...9)", "Thread { }", "let a = socket(0, 0, 0)",
    "final class Handler: ChannelHandler {", "let now = NIODeadline.now()", "FileManager.default", "print(a)",
  ]) func `impure code is found`(source: String) {
    #expect(self.lines(SourceRules.purity(of: self.text("let a = 1", source))) == [2])
  }

  @Test(arguments: ["/// Task, Date and ContinuousClock", "let candidate = lastDate", "throw \"Thread\""])
  func `names that contain an impure name are allowed`(source: String) {
    #expect(SourceRules.purity(of: self.text(source)) == [])
  }

  @Test func `600 lines are allowed, 601 are not`() {
    let allowed = SwiftText(path: "A.swift", text: String(repeating: "a\n", count: 600))
    let tooLong = SwiftText(path: "A.swift", text: String(repeating: "a\n", count: 601))
    #expect(SourceRules.length(of: allowed) == [])
    #expect(self.lines(SourceRules.length(of: tooLong)) == [601])
  }

  @Test(arguments: [
    "final class A: @unchecked Sendable {", "nonisolated(unsafe) let a = b", "fatalError(\"a\")", "let a = try! b()",
    "let a = b as! C", "unsafeBitCast(a, to: Int.self)",
  ]) func `a disabled check without a reason is found`(source: String) {
    #expect(self.lines(SourceRules.justifications(of: self.text("let a = 1", source))) == [2])
    let near = self.text("// Safe because of this.", "///", "///", "///", "///", "///", source)
    #expect(SourceRules.justifications(of: near) == [])
    let far = self.text("// Safe because of this.", "///", "///", "///", "///", "///", "///", source)
    #expect(self.lines(SourceRules.justifications(of: far)) == [8])
    #expect(SourceRules.justifications(of: self.text("\(source)  // Safe because of this.")) == [])
    #expect(SourceRules.justifications(of: self.text("// \(source)")) == [])
  }

  @Test(arguments: [
    "Thread.sleep(forTimeInterval: 1)", "try await Task.sleep(for: .seconds(1))", "usleep(1000)", "sleep(1)",
    "try await clock.sleep(until: then)", "queue.asyncAfter(deadline: then) {",
  ]) func `a sleep in a test is found`(source: String) {
    #expect(self.lines(SourceRules.sleeps(in: self.text(source))) == [1])
  }

  @Test func `a timeout of a wait is not a sleep`() {
    #expect(SourceRules.sleeps(in: self.text("try await Task.sleep(for: limit)", "let asleep = 1")) == [])
    #expect(SourceRules.sleeps(in: self.text("// Safe because of this.", "Task.sleep(for: .seconds(1))")) == [])
  }

  @Test(arguments: [
    ["public struct A {"], ["  public var a = 1"], ["public enum A {"], ["// Not a doc comment.", "public let a = 1"],
    ["/// A.", "", "public let a = 1"],
  ]) func `a public declaration without a doc comment is found`(source: [String]) {
    let text = SwiftText(path: "A.swift", text: source.joined(separator: "\n"))
    #expect(self.lines(SourceRules.documentation(of: text)) == [source.count])
  }

  @Test func `cases and requirements without a doc comment are found`() {
    let text = self.text(
      "/// A.", "public enum A {", "  case a", "  /// B.", "  case b", "  var c: Int {", "    switch self {",
      "    case .a: 1", "    }", "  }", "  indirect case d", "}",
      "/// B.", "public protocol B {", "  var a: Int { get }", "  /// B.", "  func b()", "  static func c()", "}",
      "enum C {", "  case a", "}")
    #expect(self.lines(SourceRules.documentation(of: text)) == [3, 11, 15, 18])
  }

  @Test(arguments: [
    ["/// A.", "public struct A {"], ["/// A.", "@frozen", "public struct A {"], ["public import Media"],
    ["@_exported public import Media"], ["struct A {"], ["package let a = 1"], ["public extension A {"],
    ["/// A.", "// Safe because of this.", "public let a = 1"],
  ]) func `documented and non-public declarations are allowed`(source: [String]) {
    let text = SwiftText(path: "A.swift", text: source.joined(separator: "\n"))
    #expect(SourceRules.documentation(of: text) == [])
  }

  @Test(arguments: [
    ["/// The value.", "public var value: Int"], ["/// Creates a feedback message.", "public init(a: Int) {"],
    ["/// Creates settings.", "@usableFromInline", "public init() {"], ["/// `a`.", "  public static let a = 1"],
    ["/// Parses", "/// received bytes.", "public mutating func receive() {"],
  ]) func `a doc comment that says nothing is found`(source: [String]) {
    let text = SwiftText(path: "A.swift", text: source.joined(separator: "\n"))
    #expect(self.lines(SourceRules.emptyDocumentation(of: text)) == [source.count])
  }

  @Test(arguments: [
    ["/// Length of a tag, in bytes.", "public let length: Int"], ["/// Creates default settings.", "var a = 1"],
    ["/// The identity.", "case none"], ["/// Creates an empty queue.", "public init() {"], ["public import Media"],
    ["/// Creates a report of arrivals.", "public init(", "arrivals: [Arrival]"],
  ]) func `a doc comment that says something is allowed`(source: [String]) {
    let text = SwiftText(path: "A.swift", text: source.joined(separator: "\n"))
    #expect(SourceRules.emptyDocumentation(of: text) == [])
  }

  @Test(arguments: [
    ("Package.resolved", true), ("Examples/Package.resolved", true), (".build/debug.yaml", true),
    (".build-media/a.mp4", true), ("Sources/a.o", true), ("Package.swift", false), ("docs/a.build.md", false),
  ]) func `generated files are distinguished from written ones`(path: String, isMade: Bool) {
    #expect(Repository.isMadeByTools(path) == isMade)
  }
}
