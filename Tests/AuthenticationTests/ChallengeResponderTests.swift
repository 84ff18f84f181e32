import Testing

@testable import Authentication

@Suite("Answers to challenges, as a client")
struct ChallengeResponderTests {
  /// A responder in a class: expectations cannot change a value.
  private final class Client {
    private var responder: ChallengeResponder

    init(user: String, password: String, clientNonce: String = "1") {
      self.responder = ChallengeResponder(user: user, password: password, clientNonce: clientNonce)
    }

    func take(_ challenges: [String]) -> Bool { self.responder.take(challenges) }
    func authorization(_ uri: String = "/dir/index.html") -> String? {
      self.responder.authorization(method: "GET", uri: uri)
    }
  }

  /// The example of RFC 7616 §3.9.1.
  private static func mufasa() -> Client {
    Client(user: "Mufasa", password: "Circle of Life", clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
  }

  private static func challenge(_ algorithm: String) -> String {
    #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\#(algorithm), "#
      + #"nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
  }

  @Test(arguments: [
    ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
  ])
  func `the proofs of RFC 7616 are made`(algorithm: String, response: String) throws {
    let responder = Self.mufasa()
    #expect(responder.authorization() == nil)
    #expect(responder.take([Self.challenge(algorithm)]))
    let value = try #require(responder.authorization())
    #expect(value.contains("response=\"\(response)\""))
    #expect(value.contains("nc=00000001") && value.contains("opaque=\"FQhe/"))
    // The next request of the same nonce has another count, and so another proof.
    let next = try #require(responder.authorization())
    #expect(next.contains("nc=00000002") && !next.contains(response))
  }

  @Test func `a challenge without qop gets a proof of RFC 2069`() throws {
    let responder = Client(user: "Mufasa", password: "CircleOfLife")
    let challenge = #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#
    #expect(responder.take([#"Basic realm="x""#, challenge]))
    let value = try #require(responder.authorization())
    #expect(value.contains(#"response="1949323746fe6a43ef61f9606e7febea""#) && !value.contains("qop"))
  }

  @Test func `Basic is answered where there is no Digest`() {
    let responder = Client(user: "Aladdin", password: "open sesame")
    #expect(responder.take([#"Negotiate"#, #"Basic realm="WallyWorld""#]))
    #expect(responder.authorization("/") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
  }

  @Test func `a refused proof is not repeated, an aged nonce is replaced`() {
    let responder = Self.mufasa()
    #expect(responder.take([Self.challenge("MD5")]))
    #expect(!responder.take([Self.challenge("MD5")]))
    #expect(responder.take([Self.challenge("MD5") + ", stale=TRUE"]))
  }

  @Test(arguments: [
    [], ["Digest"], [#"Digest realm="a""#], [#"Digest realm="a", nonce="b", algorithm=SHA-512-256"#],
    [#"Digest realm="a", nonce="b", qop="auth-int""#], [#"Bearer realm="a""#],
  ])
  func `challenges that cannot be answered are refused`(values: [String]) {
    let responder = Self.mufasa()
    #expect(!responder.take(values))
    #expect(responder.authorization("/") == nil)
  }

  @Test func `names with quotation marks cannot end their parameter`() throws {
    let responder = Client(user: #"a"b\"#, password: "c")
    #expect(responder.take([#"Digest realm="r", nonce="n""#]))
    let value = try #require(responder.authorization("/"))
    #expect(value.hasPrefix(#"Digest username="a\"b\\", realm="r""#))
  }
}
