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

  @Test func `every file of the folder is in the program, byte by byte`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.site.path)
    #expect(Set(names) == Set(WebPage.files.keys))
    for name in names {
      let onDisk = try [UInt8](Data(contentsOf: Self.site.appending(path: name)))
      let isSame = WebPage.files[name].map { Array($0.bytes.readableBytesView) == onDisk } ?? false
      #expect(isSame, "\(name)")
    }
  }

  @Test(arguments: [
    ("/", "text/html; charset=utf-8"), ("/_page/player.css", "text/css; charset=utf-8"),
    ("/_page/player.mjs", "text/javascript; charset=utf-8"), ("/_page/icon.svg", "image/svg+xml"),
  ]) func `a path is found with its media type`(path: String, mediaType: String) {
    #expect(WebPage.file(path)?.mediaType == mediaType)
  }

  @Test(arguments: [
    "", "/hello", "/_page", "/_page/", "/_page/../list.html", "/_page/%6cist.html", "/_page//list.html", "/list.html",
    "_page/list.html", "/_page/list.html/", "/_page/LIST.HTML", "/_page/list.html%00",
  ]) func `any other path is none of the page's`(path: String) {
    #expect(WebPage.file(path) == nil)
  }

  @Test func `a substring is a path too`() {
    #expect(WebPage.file("/_page/base.css?x".prefix(15))?.mediaType == "text/css; charset=utf-8")
  }

  @Test func `all pages are HTML`() {
    for file in [WebPage.list, WebPage.player, WebPage.recordings] {
      #expect(file.mediaType == "text/html; charset=utf-8")
      #expect(String(buffer: file.bytes).hasPrefix("<!doctype html>"))
    }
  }

  @Test func `entity tags are of the bytes`() {
    // SHA-256 of "abc", FIPS 180-4's example.
    let file = WebPage.File(ByteBuffer(string: "abc"), mediaType: "text/plain")
    #expect(file.entityTag == "\"ba7816bf8f01cfea414140de\"")
    #expect(Set(WebPage.files.values.map(\.entityTag)).count == WebPage.files.count)
  }

  @Test func `what a file names is in the program`() throws {
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

  @Test func `nothing is asked of another server`() throws {
    for (name, text) in Self.texts {
      // A script puts no address together: it has them from the server.
      let hosts = ["://", "\"//", "'//"].flatMap { text.components(separatedBy: $0).dropFirst() }
        .map { $0.prefix { $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" } }
      // The name of the vocabulary of SVG is no address that is asked.
      #expect(hosts.filter { $0 != "www.w3.org" && !$0.isEmpty } == [], "\(name)")
    }
  }

  @Test func `the content security policy finds nothing to forbid in the HTML`() throws {
    let inline = try Regex(#"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:"#).ignoresCase()
    for (name, text) in Self.texts where name.hasSuffix(".html") || name.hasSuffix(".svg") {
      #expect(text.matches(of: inline).isEmpty, "\(name)")
    }
    #expect(!WebPage.contentSecurityPolicy.contains("unsafe"))
  }

  @Test func `the page stays small`() {
    #expect(WebPage.files.values.reduce(0) { $0 + $1.bytes.readableBytes } < 150_000)
  }
}
