import Authentication
import Media
import Testing

@testable import RTMP

@Suite("Addresses of streams")
struct RTMPURLTests {
  @Test(arguments: [
    ("rtmp://a.example/app/k3y", "rtmp://a.example/app", "a.example", UInt16(1935), "k3y"),
    ("RTMPS://a.example/app/k3y", "rtmps://a.example/app", "a.example", 443, "k3y"),
    ("rtmps://a.example:1936/app/inst/k3y?x=1/2", "rtmps://a.example:1936/app/inst", "a.example", 1936, "k3y?x=1/2"),
    ("rtmp://[::1]:1935//app/a:b", "rtmp://[::1]/app", "::1", 1935, "a:b"),
    ("rtmp://h/app", "rtmp://h/app", "h", 1935, ""),
  ])
  func `host, application and key are found`(text: String, url: String, host: String, port: UInt16, key: String) throws
  {
    let parsed = try RTMPURL(parsing: text)
    #expect(parsed.connectionURL == url && parsed.host == host && parsed.port == port && parsed.key.text == key)
    #expect(!"\(parsed)".contains(key) || key.isEmpty)
  }

  @Test(arguments: [
    ("", "scheme"), ("http://a/b/c", "scheme"), ("rtmp:", "URL"), ("rtmp:/a/b", "URL"), ("rtmp:///a/b", "host"),
    ("rtmp://h", "application"), ("rtmp://h/", "application"), ("rtmp://h:0/a/b", "port"),
    ("rtmp://h:99999/a/b", "port"),
    ("rtmp://h:/a/b", "port"), ("rtmp://u:p@h/a/b", "user"), ("rtmp://[::1/a/b", "host"), ("rtmp://[a]/a/b", "host"),
    ("rtmp://h/a/b\r\nx", "URL"), ("rtmp://h/a b/c", "URL"), ("rtmp://h?x/a/b", "host"), ("rtmp://h]/a/b", "host"),
    ("rtmp://[::1[]/a/b", "host"),
    ("rtmp://[::1]x/a/b", "host"),
  ])
  func `malformed addresses are refused without their key`(text: String, field: String) {
    #expect(error { () throws(ParsingError) in _ = try RTMPURL(parsing: text) }?.field == field)
  }

  @Test(arguments: [
    ("hello", "", ["hello"]), ("", "hello", ["hello"]), ("live", "hello", ["live/hello", "hello"]),
    ("live", "", ["live"]), ("live", "live", ["live/live", "live"]), ("/live/", "a/b", ["live/a/b", "a/b"]),
    ("", "", [""]), ("hello?token=t", "x?y=1", ["hello/x"]), ("", "a%20b%", ["a b%"]), ("", "%FF", []),
  ])
  func `the streams that a request may mean`(application: String, name: String, paths: [String]) {
    let request = RTMPStreamRequest(purpose: .play, application: application, url: nil, name: name)
    #expect(request.paths == paths)
  }

  @Test(arguments: [
    ("hello", "key", ["hello key", "hello/key"]),
    ("live", "hello/key", ["live/hello key", "hello key", "live/hello/key", "hello/key"]),
    ("hello", "", ["hello"]), ("live", "hello?key=k", ["live/hello k", "hello k", "live hello"]),
  ])
  func `the streams and secrets that a publisher may mean`(application: String, name: String, expected: [String]) {
    let request = RTMPStreamRequest(purpose: .publish, application: application, url: nil, name: name)
    let publications = request.publications.map { name, secret in
      [name, secret?.text].compactMap(\.self).joined(separator: " ")
    }
    #expect(publications == expected)
  }

  @Test func `a token is found in the name, the application and the URL, in this order`() {
    func token(_ name: String, _ application: String = "", _ url: String? = nil) -> String? {
      RTMPStreamRequest(purpose: .play, application: application, url: url, name: name).token?.text
    }
    #expect(token("a?token=1", "b?token=2", "rtmp://h/b?token=3") == "1")
    #expect(token("a", "b?x=1&token=2/", "rtmp://h/b?token=3") == "2")
    #expect(token("a", "b", "rtmp://h/b?token=%33") == "3")
    #expect(token("a?tokens=1") == nil)
    #expect(token("a?user=1&pass=2") == nil)
    #expect(token("a?key=1") == "1" && token("a?key=1&token=2") == "2")
  }

  @Test(
    arguments: [
      ("a?user=anna&pass=b%2Fc%26", "", "anna b/c&"), ("a", "live?x=1&pass=s&user=ben/", "ben s"),
      ("a?user=anna", "live?pass=s", nil),
      ("a?user=anna&pass=", "", "anna "), ("a", "", nil),
    ] as [(String, String, String?)])
  func `a name and a password are found in one query`(name: String, application: String, login: String?) {
    let request = RTMPStreamRequest(purpose: .play, application: application, url: nil, name: name)
    #expect(request.login.map { "\($0.user) \($0.password.text)" } == login)
    #expect(!"\(request)".contains("b/c&"))
  }
}
