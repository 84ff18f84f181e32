import Foundation
import NIOCore
import Testing

@testable import WebPage

@Suite("The files of the web page")
struct WebPageTests {
  private static let site = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/WebPage/Site")

  /// The text of every file, by name.
  private static let texts = WebPage.files.mapValues { String(buffer: $0.bytes) }

  @Test func `every file of the folder is embedded, byte by byte`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.site.path)
    #expect(Set(names.map(PageSource.servedName)) == Set(WebPage.files.keys) && names.count == WebPage.sources.count)
    for (name, bytes) in WebPage.sources {
      let onDisk = try [UInt8](Data(contentsOf: Self.site.appending(path: name)))
      #expect(Array(bytes) == onDisk, "\(name)")
    }
  }

  @Test(arguments: [
    ("/", "text/html; charset=utf-8"), ("/_page/player.css", "text/css; charset=utf-8"),
    ("/_page/player.js", "text/javascript; charset=utf-8"), ("/_page/icon.svg", "image/svg+xml"),
  ]) func `a path is found with its media type`(path: String, mediaType: String) {
    #expect(WebPage.file(path)?.mediaType == mediaType)
  }

  @Test(arguments: [
    "", "/hello", "/_page", "/_page/", "/_page/../list.html", "/_page/%6cist.html", "/_page//list.html", "/list.html",
    "_page/list.html", "/_page/list.html/", "/_page/list.mjs", "/_page/LIST.HTML", "/_page/list.html%00",
  ]) func `any other path has no file`(path: String) {
    #expect(WebPage.file(path) == nil)
  }

  @Test func `a path can be a substring`() {
    #expect(WebPage.file("/_page/base.css?x".prefix(15))?.mediaType == "text/css; charset=utf-8")
  }

  @Test func `the five pages are HTML`() {
    for file in [WebPage.list, WebPage.player, WebPage.recordings, WebPage.publish, WebPage.authority] {
      #expect(file.mediaType == "text/html; charset=utf-8")
      #expect(String(buffer: file.bytes).hasPrefix("<!doctype html>"))
    }
  }

  @Test func `the player says that privacy does not alter audio`() {
    #expect(String(buffer: WebPage.player.bytes).contains("Privacy: covered, audio unchanged"))
  }

  @Test func `entity tags are hashes of the bytes`() {
    // SHA-256 of "abc", FIPS 180-4's example.
    let file = WebPage.File(ByteBuffer(string: "abc"), mediaType: "text/plain")
    #expect(file.entityTag == "\"ba7816bf8f01cfea414140de\"")
    #expect(Set(WebPage.files.values.map(\.entityTag)).count == WebPage.files.count)
  }

  @Test func `every file that a file refers to is embedded`() throws {
    let path = try Regex(#"(?:href|src)="(/_page/[^"]*)"|from "\./([^"]*)""#)
    var count = 0
    for (name, text) in Self.texts {
      for match in text.matches(of: path) {
        let named = match.output[1].substring.map { $0.dropFirst(WebPage.folder.count) } ?? match.output[2].substring
        #expect(WebPage.files[String(try #require(named))] != nil, "\(name) names \(match.0)")
        count += 1
      }
    }
    #expect(count > 50)
  }

  @Test(arguments: [
    ("import { a } from \"./a.mjs\";", "import { a } from \"./a.js\";"),
    ("<script src=\"/_page/a.mjs\">", "<script src=\"/_page/a.js\">"),
    ("// a.mjs", "// a.mjs"), (".mjs\"", ".js\""), ("\"", "\""), ("", ""),
  ])
  func `modules are named as they are served`(source: String, served: String) {
    #expect(String(decoding: PageSource.namingModules(Array(source.utf8)), as: UTF8.self) == served)
    #expect(PageSource.servedName("a.mjs") == "a.js" && PageSource.servedName("a.css") == "a.css")
  }

  @Test func `an address in HTML is one that the server puts below its root, or one within the page`() throws {
    let attribute = try Regex(#"\s(?:href|src|action|poster)="([^"]*)""#)
    var count = 0
    for (name, text) in Self.texts where name.hasSuffix(".html") {
      for match in text.matches(of: attribute) {
        let address = try #require(match.output[1].substring)
        #expect(address.hasPrefix("/") && !address.hasPrefix("//") || address.hasPrefix("#"), "\(name): \(address)")
        count += address.hasPrefix("/") ? 1 : 0
      }
    }
    #expect(count > 50)
    let styles = Self.texts.filter { $0.key.hasSuffix(".css") }
    #expect(styles.count >= 5 && styles.values.allSatisfy { !$0.contains("url(") && !$0.contains("@import") })
  }

  @Test func `no file refers to another server`() throws {
    for (name, text) in Self.texts {
      // Scripts build no absolute URLs: they receive them from the server.
      let hosts = ["://", "\"//", "'//"].flatMap { text.components(separatedBy: $0).dropFirst() }
        .map { $0.prefix { $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" } }
      // The SVG namespace is not requested.
      #expect(hosts.filter { $0 != "www.w3.org" && !$0.isEmpty } == [], "\(name)")
    }
  }

  @Test func `the HTML has no inline scripts, styles or handlers`() throws {
    let inline = try Regex(#"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:"#).ignoresCase()
    let pages = Self.texts.filter { $0.key.hasSuffix(".html") || $0.key.hasSuffix(".svg") }
    #expect(pages.count > 5)
    for (name, text) in pages { #expect(text.matches(of: inline).isEmpty, "\(name)") }
    #expect(!WebPage.contentSecurityPolicy.contains("unsafe"))
  }

  @Test func `files are smaller than 160 kB, without 20 kB that only the page of a publisher loads`() {
    let publishing = Set(WebPage.files.keys.filter { $0.hasPrefix("publish") })
    #expect(publishing.count == 5)
    func size(_ names: some Sequence<String>) -> Int {
      names.reduce(0) { $0 + (WebPage.files[$1]?.bytes.readableBytes ?? 0) }
    }
    #expect(size(Set(WebPage.files.keys).subtracting(publishing)) < 160_000)
    #expect(size(publishing) < 20_000)
  }

  @Test(arguments: [
    ("a.mjs", "// One.\n  // Two.\nlet a = 1; // Three.\n\n    b(\"//\");\n", "let a = 1; // Three.\nb(\"//\");\n"),
    ("a.mjs", "/**\n * One.\n */\nlet a;\n/** Two. */\nlet b; /* 3 */\n", "let a;\nlet b; /* 3 */\n"),
    ("a.mjs", "/* One. */ let a;\n/*\n*/ let b;", "let a;\nlet b;\n"),
    ("a.mjs", "  f(`a\n  // b`);\n// One.\n", "  f(`a\n  // b`);\n// One.\n"),
    ("a.mjs", "  f(`a`, `b`);\n", "f(`a`, `b`);\n"),
    ("a.css", "/* One\n two */\na {\n  color: red;\n}\n", "a {\ncolor: red;\n}\n"),
    ("a.css", "//a {}\n", "//a {}\n"), ("a.html", "  <p>\n", "  <p>\n"), ("a.mjs", "/*", ""), ("a.mjs", "", ""),
  ]) func `comments and indentation are left out`(name: String, source: String, compact: String) {
    #expect(String(decoding: PageSource.compact(Array(source.utf8), name: name), as: UTF8.self) == compact)
  }

  @Test func `every script and style is compact, and is code without its comments`() {
    let sources = Self.texts.filter { $0.key.hasSuffix(".js") || $0.key.hasSuffix(".css") }
    #expect(sources.count > 20)
    for (name, text) in sources {
      let isKept = text.split(separator: "\n").contains {
        $0.hasPrefix(" ") || $0.hasPrefix("/*") || $0.hasPrefix("//")
      }
      #expect(!isKept, "\(name)")
    }
  }
}
