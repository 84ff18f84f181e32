import Media
import RTMP
import Testing

@testable import Pushing

@Suite("Targets of pushes")
struct PushTargetTests {
  @Test func `addresses show everything but the key`() throws {
    let cases: [(String, String)] = [
      ("rtmp://a.example/live/SECRET", "rtmp://a.example/live"),
      ("rtmps://a.rtmps.example/live2/SECRET-1234", "rtmps://a.rtmps.example/live2"),
      ("rtmps://[2001:db8::1]:8443/app/SECRET", "rtmps://[2001:db8::1]:8443/app"),
      ("rtmp://10.0.0.1:1936/app/instance/SECRET?token=SECRET&a=/b", "rtmp://10.0.0.1:1936/app/instance"),
    ]
    for (url, address) in cases {
      let target = try PushTarget(url: url)
      #expect(target.address == address)
      for text in ["\(target)", "\(target.url)", String(reflecting: target), String(describing: target.url.key)] {
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
      "rtmp://user:SECRET@host/app/key", "rtmp://host:0/app/SECRET", "rtmp://host:99999/app/SECRET",
      "rtmp:///app/SECRET", "rtmp://[::1/app/SECRET", "rtmp://host/app/SEC RET", "rtmp://host/app/SECRET\n",
      "rtmp://host/live?auth=SECRET/key", "rtmp://host/app/" + String(repeating: "SECRET", count: 500),
    ]
    for url in urls {
      let error = #expect(throws: VidiconError.self, "\(url)") { try PushTarget(url: url) }
      let line = "\(error?.description ?? "SECRET")"
      #expect(!line.contains("SEC") && !line.contains("\n"), "\(line)")
    }
    #expect(throws: VidiconError.self) { try PushTarget(url: "rtmp://host/app/key", bitrate: 9999) }
  }
}
