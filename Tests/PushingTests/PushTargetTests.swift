import Authentication
import Media
import RTMP
import Testing
import WebRTC

@testable import Pushing

@Suite("Targets of pushes")
struct PushTargetTests {
  @Test func `addresses show everything but the key`() throws {
    let cases: [(String, String)] = [
      ("rtmp://a.example/live/SECRET", "rtmp://a.example/live"),
      ("rtmps://a.rtmps.example/live2/SECRET-1234", "rtmps://a.rtmps.example/live2"),
      ("rtmps://[2001:db8::1]:8443/app/SECRET", "rtmps://[2001:db8::1]:8443/app"),
      ("rtmp://10.0.0.1:1936/app/instance/SECRET?token=SECRET&a=/b", "rtmp://10.0.0.1:1936/app/instance"),
      ("rtmp://b.rtmp.youtube.example/live2?backup=1/SECRET", "rtmp://b.rtmp.youtube.example/live2"),
      ("rtmp://host/live?auth=SECRET/SECRET", "rtmp://host/live"),
      ("rtmp://anna:SECRET@host/live/SECRET", "rtmp://host/live"),
    ]
    for (url, address) in cases {
      let target = try PushTarget(url: url)
      #expect(target.address == address)
      for text in ["\(target)", "\(target.destination)", String(reflecting: target)] {
        #expect(!text.contains("SECRET"), "\(text)")
      }
      var dumped = ""
      dump(target, to: &dumped)
      #expect(!dumped.contains("SECRET"), "\(dumped)")
    }
  }

  @Test func `what cannot be pushed to is refused with one line without the key`() throws {
    let urls = [
      "", "SECRET", "http://host/app/SECRET", "rtmp://host", "rtmp://host/", "rtmp://host/SECRET", "rtmp://host/app/",
      "rtmp://a&b:SECRET@host/app/key", "rtmp://SECRET@host/app/key", "rtmp://host:0/app/SECRET",
      "rtmp://host:99999/app/SECRET",
      "rtmp:///app/SECRET", "rtmp://[::1/app/SECRET", "rtmp://host/app/SEC RET", "rtmp://host/app/SECRET\n",
      "rtmp://host/live?auth=SECRET", "rtmp://host/app/" + String(repeating: "SECRET", count: 500),
    ]
    for url in urls {
      let error = #expect(throws: VidiconError.self, "\(url)") { try PushTarget(url: url) }
      let line = "\(error?.description ?? "SECRET")"
      #expect(!line.contains("SEC") && !line.contains("\n"), "\(line)")
    }
    #expect(throws: VidiconError.self) { try PushTarget(url: "rtmp://host/app/key", bitrate: 9999) }
  }

  @Test func `a target of WHIP shows its host, not its path and not its token`() throws {
    let token = Secret("SECRET-token")
    let target = try PushTarget(url: "whip+https://media.example:8443/SECRET/whip?key=SECRET", token: token)
    #expect(target.address == "whip+https://media.example:8443" && target.isWHIP)
    var dumped = ""
    dump(target, to: &dumped)
    for text in ["\(target)", "\(target.destination)", String(reflecting: target), dumped] {
      #expect(!text.contains("SECRET"), "\(text)")
    }
    #expect(
      try target.destination
        == .whip(WHIPURL(parsing: "whip+https://media.example:8443/SECRET/whip?key=SECRET"), token: token))
    #expect(try !PushTarget(url: "rtmp://host/app/key").isWHIP)
  }

  /// Texts that the server of a target gets: path and query of WHIP, application and key of RTMP.
  private static func sent(_ target: PushTarget) -> [String] {
    switch target.destination {
    case .whip(let url, _): [url.target.text]
    case .rtmp(let url): [url.connectionURL, url.key.text]
    }
  }

  @Test(
    arguments: [
      ("whip+https://h/whip?rendition=low", "low", ["/whip"]),
      ("whip+http://h:8080?rendition=low", "low", ["/"]),
      ("WHIP+HTTPS://h/a?key=1&rendition=low&x=%2f", "low", ["/a?key=1&x=%2f"]),
      ("whip+https://h/a?rendition=low&&b=2&a=1&", "low", ["/a?&b=2&a=1&"]),
      ("whip+https://h/a?x?rendition=low", "main", ["/a?x?rendition=low"]),
      ("whip+https://h/rendition=low/a", "main", ["/rendition=low/a"]),
      ("whip+https://h/a?b=1#?rendition=low", "main", ["/a?b=1"]),
      ("whip+https://h/a#b?rendition=low", "main", ["/a"]),
      ("whip+https://h/a?rendition=l%6Fw#rendition=high", "low", ["/a"]),
      ("whip+https://h/a?rendition=low&rendition=lo%77&b", "low", ["/a?b"]),
      ("whip+https://h/a?rendition=main", "main", ["/a"]),
      ("whip+https://h/a?rendition", "", ["/a"]),
      ("whip+https://h/a?rendition=", "", ["/a"]),
      ("whip+https://h/a?rendition=a=b", "a=b", ["/a"]),
      ("whip+https://h/a?rendition=a+b", "a+b", ["/a"]),
      ("whip+https://h/a?rendition=h%C3%B6he", "höhe", ["/a"]),
      ("whip+https://h/a?rendition=höhe&b=1", "höhe", ["/a?b=1"]),
      ("whip+https://h/a?rendition=%FF", "%FF", ["/a"]),
      ("whip+https://h/a?rendition=%4", "%4", ["/a"]),
      ("whip+https://h/a?Rendition=low&renditions=b", "main", ["/a?Rendition=low&renditions=b"]),
      ("whip+https://h/a?xrendition=low&rendition%3Dlow", "main", ["/a?xrendition=low&rendition%3Dlow"]),
      ("whip+https://h/a?%72endition=theirs", "main", ["/a?%72endition=theirs"]),
      ("whip+https://h/a?rendition=low&%72endition=theirs", "low", ["/a?%72endition=theirs"]),
      ("rtmp://h/app/KEY?rendition=low", "low", ["rtmp://h/app", "KEY"]),
      ("rtmps://h/app/i/KEY?a=1&rendition=low&b=%41", "low", ["rtmps://h/app/i", "KEY?a=1&b=%41"]),
      ("rtmp://h/live2?backup=1&rendition=low/KEY", "low", ["rtmp://h/live2?backup=1", "KEY"]),
      ("rtmp://h/live2?rendition=low/KEY", "low", ["rtmp://h/live2", "KEY"]),
      ("rtmp://h/live2?backup=1/KEY?rendition=low", "low", ["rtmp://h/live2?backup=1", "KEY"]),
      ("rtmp://h/live2?rendition=low/KEY?rendition=low", "low", ["rtmp://h/live2", "KEY"]),
      ("rtmp://h/app/KEY;rendition=low", "main", ["rtmp://h/app", "KEY;rendition=low"]),
      ("rtmp://h/app/KEY?a=ä&rendition=höhe", "höhe", ["rtmp://h/app", "KEY?a=ä"]),
      ("rtmp://h/app/KEY?a=1;rendition=low", "main", ["rtmp://h/app", "KEY?a=1;rendition=low"]),
    ] as [(String, String, [String])])
  func `the rendition of a URL is not sent, and all else is, byte for byte`(
    url: String, rendition: String, sent: [String]
  ) throws {
    let target = try PushTarget(url: url)
    #expect(target.rendition == rendition)
    // Strings with other bytes of the same letters would be equal.
    #expect(Self.sent(target).map { Array($0.utf8) } == sent.map { Array($0.utf8) }, "\(Self.sent(target))")
    #expect(try PushTarget(url: url, rendition: rendition) == target, "named in both ways")
  }

  @Test(
    arguments: [
      ("whip+https://h/a?rendition=low&key=SECRET", "main"), ("whip+https://h/a?rendition=SECRET", "low"),
      ("whip+https://h/a?rendition=low&rendition=SECRET", nil), ("whip+https://h/a?rendition", "low"),
      ("rtmp://h/app/SECRET?rendition=low", "high"), ("rtmp://h/live?rendition=low/SECRET?rendition=high", nil),
      ("rtmp://h/live?rendition=low/SECRET", ""),
    ] as [(String, String?)])
  func `two different renditions are refused without the query`(url: String, rendition: String?) throws {
    let error = #expect(throws: VidiconError.self) { try PushTarget(url: url, rendition: rendition) }
    #expect(error?.cause == "two different renditions are given" && error?.code == .invalidSpecification)
    #expect(error?.description.contains("SECRET") == false)
  }

  @Test func `a rendition is no stream key`() {
    for url in ["rtmp://h/app/?rendition=low", "rtmp://h/app?rendition=low", "rtmp://h/KEY?rendition=low"] {
      let error = #expect(throws: VidiconError.self, "\(url)") { try PushTarget(url: url) }
      #expect(error?.cause == "its URL has no stream key")
    }
  }

  @Test func `a token that is set for all goes to targets of WHIP without one`() throws {
    let own = Secret("own")
    var targets = try [
      PushTarget(url: "whip+http://127.0.0.1:8080/whip"), PushTarget(url: "whip+https://host/whip", token: own),
      PushTarget(url: "rtmp://host/app/key"),
    ]
    let expected = try [
      PushTarget(url: "whip+http://127.0.0.1:8080/whip", token: Secret("all")), targets[1], targets[2],
    ]
    for index in targets.indices { try targets[index].setDefaultToken(Secret("all")) }
    #expect(targets == expected)
    var target = try PushTarget(url: "whip+https://host/whip")
    let error = #expect(throws: VidiconError.self) { try target.setDefaultToken(Secret("SEC RET")) }
    #expect(error?.description.contains("SEC") == false)
  }

  @Test func `what cannot be a target of WHIP is refused without its path and its token`() throws {
    let urls: [(String, String?)] = [
      ("whip://host/SECRET", nil), ("whip+ftp://host/SECRET", nil), ("whip+https:///SECRET", nil),
      ("whip+https://user:SECRET@host/whip", nil), ("whip+https://host:0/SECRET", nil),
      ("whip+https://host/SEC RET", nil), ("whip+https://host/SECRET\n", nil), ("whip+https://host/whip", ""),
      ("whip+https://host/whip", "SECRET\r\nX: y"), ("whip+https://host/whip", String(repeating: "SECRET", count: 500)),
      ("rtmp://host/app/key", "SECRET"), ("whip+https://host/" + String(repeating: "SECRET", count: 500), nil),
    ]
    for (url, token) in urls {
      let error = #expect(throws: VidiconError.self, "\(url)") {
        try PushTarget(url: url, token: token.map { Secret($0) })
      }
      let line = "\(error?.description ?? "SECRET")"
      #expect(!line.contains("SEC") && !line.contains("\n"), "\(line)")
    }
  }
}
