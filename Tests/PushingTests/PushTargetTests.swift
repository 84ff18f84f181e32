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
