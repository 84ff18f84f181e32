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
    ("rtmp://h/app?x=1", "rtmp://h/app?x=1", "h", 1935, ""),
    ("rtmp://b.example/live2?backup=1/k3y", "rtmp://b.example/live2?backup=1", "b.example", 1935, "k3y"),
    ("rtmp://h/app/k3y?x=1/2", "rtmp://h/app", "h", 1935, "k3y?x=1/2"),
  ])
  func `host, application and key are found`(text: String, url: String, host: String, port: UInt16, key: String) throws
  {
    let parsed = try RTMPURL(parsing: text)
    #expect(parsed.connectionURL == url && parsed.host == host && parsed.port == port && parsed.key.text == key)
    #expect(!"\(parsed)".contains(key) || key.isEmpty)
  }

  @Test func `a user and password are found, and no description has the password`() throws {
    let url = try RTMPURL(parsing: "rtmp://anna:s%40me%3A!@[::1]:1936/live/k3y")
    #expect(url.login == RTMPLogin(user: "anna", password: Secret("s@me:!")))
    #expect(url.address == "rtmp://[::1]:1936/live" && url.connectionURL == url.address)
    #expect(!"\(url)".contains("s@me") && url.secrets.contains("s@me:!"))
    let redirected = try #require(url.redirected(to: "rtmp://b/live"))
    #expect(redirected.login == url.login && redirected.host == "b")
    #expect(url.redirected(to: "rtmp://eve:x@b/live") == nil)
    let answered = url.authenticated(with: Secret("authmod=adobe&user=anna"))
    #expect(answered.connectionURL == "rtmp://[::1]:1936/live?authmod=adobe&user=anna" && answered.key == url.key)
    let backup = try RTMPURL(parsing: "rtmp://h/live2?backup=1/k3y").authenticated(with: Secret("a=b"))
    #expect(backup.connectionURL == "rtmp://h/live2?backup=1&a=b")
  }

  @Test(arguments: [
    ("rtmp://a/app/k3y?t=1", "rtmp://b:1936/live", "rtmp://b:1936/live"),
    ("rtmp://a/app/k3y", "rtmps://b/live", "rtmps://b/live"),
    ("rtmps://a/app/k3y", "rtmps://b/live?x=1", "rtmps://b/live?x=1"), ("rtmps://a/app/k3y", "rtmp://b/live", nil),
    ("rtmp://a/app/k3y", "http://b/live", nil), ("rtmp://a/app/k3y", "", nil), ("rtmp://a/app/k3y", "rtmp://b", nil),
    ("rtmp://a:1936/app/k3y", "/live/x", "rtmp://a:1936/live/x"),
    ("rtmps://[::1]/app/k3y", "/live", "rtmps://[::1]/live"),
    ("rtmps://a/app/k3y", "//b:444/live?x=1", "rtmps://b:444/live?x=1"), ("rtmp://a/app/k3y", "/", nil),
    ("rtmp://a/app/k3y", "live", nil),
  ])
  func `a redirect keeps the key, and never gives encryption up`(from: String, to: String, expected: String?) throws {
    let url = try RTMPURL(parsing: from)
    let redirected = url.redirected(to: to)
    #expect(redirected?.connectionURL == expected)
    #expect(redirected == nil || redirected?.key == url.key)
  }

  @Test(arguments: [
    ("", "scheme"), ("http://a/b/c", "scheme"), ("rtmp:", "URL"), ("rtmp:/a/b", "URL"), ("rtmp:///a/b", "host"),
    ("rtmp://h", "application"), ("rtmp://h/", "application"), ("rtmp://h:0/a/b", "port"),
    ("rtmp://h:99999/a/b", "port"),
    ("rtmp://h:/a/b", "port"), ("rtmp://u@h/a/b", "user"), ("rtmp://:p@h/a/b", "user"), ("rtmp://u:@h/a/b", "user"),
    ("rtmp://u&v:p@h/a/b", "user"),
    ("rtmp://u:%0A@h/a/b", "user"), ("rtmp://[::1/a/b", "host"), ("rtmp://[a]/a/b", "host"),
    ("rtmp://h/a/b\r\nx", "URL"), ("rtmp://h/a b/c", "URL"), ("rtmp://h?x/a/b", "host"), ("rtmp://h]/a/b", "host"),
    ("rtmp://[::1[]/a/b", "host"),
    ("rtmp://[::1]x/a/b", "host"), ("rtmp://{h}/a/b", "host"), ("rtmp://a<b/a/b", "host"),
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
    ("live", "door?user=anna&pass=b", ["live/door", "door", "live door"]),
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
