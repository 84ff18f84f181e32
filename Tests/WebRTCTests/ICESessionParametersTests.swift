import NIOCore
import Testing

@testable import WebRTC

@Suite("ICE of a session's URL, RFC 9725 §4.3")
struct ICESessionParametersTests {
  private static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  private static let others = ICECredentials(usernameFragment: "next", password: "another0password0server")!
  private static let candidate = TransportAddress("192.0.2.7", port: 8189)!

  private static func parameters(video: String? = "0", audio: String? = "1") -> ICESessionParameters {
    ICESessionParameters(
      credentials: Self.credentials, clientFragment: "clnt", candidates: [Self.candidate], videoMid: video,
      audioMid: audio)
  }

  private static func fragment(_ usernameFragment: String) throws -> TrickleFragment {
    try TrickleFragment(
      parsing: ByteBuffer(
        string: "a=ice-ufrag:\(usernameFragment)\r\na=ice-pwd:client0password0client\r\na=end-of-candidates\r\n"))
  }

  @Test(arguments: [nil, "\"serv\"", "\"wrong\"", "*"] as [String?])
  func `a fragment with the known username has candidates only, whatever its entity tag`(tags: String?) throws {
    let parameters = Self.parameters()
    #expect(try !parameters.isRestart(Self.fragment("clnt"), entityTags: tags))
  }

  @Test(arguments: ["\"serv\"", "*", "\"old\", \"serv\""])
  func `another username with the entity tag is a restart`(tags: String) throws {
    let parameters = Self.parameters()
    #expect(parameters.entityTag == "\"serv\"")
    #expect(try parameters.isRestart(Self.fragment("other"), entityTags: tags))
  }

  @Test func `a restart needs the current entity tag`() throws {
    let parameters = Self.parameters()
    let fragment = try Self.fragment("other")
    #expect(throws: ICESessionParameters.Refusal.preconditionRequired) {
      try parameters.isRestart(fragment, entityTags: nil)
    }
    #expect(throws: ICESessionParameters.Refusal.preconditionFailed) {
      try parameters.isRestart(fragment, entityTags: "\"old\"")
    }
  }

  @Test func `after a restart the fragment has the new credentials, and the tag is another one`() throws {
    var parameters = Self.parameters()
    let client = try Self.fragment("other")
    parameters.restart(credentials: Self.others, client: client)
    #expect(parameters.entityTag == "\"next\"")
    #expect(try !parameters.isRestart(client, entityTags: nil))
    let text = parameters.fragment
    #expect(text.hasPrefix("a=ice-lite\r\na=ice-options:ice2\r\na=group:BUNDLE 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\n"))
    #expect(text.contains("\r\na=mid:0\r\n"))
    #expect(text.contains("a=ice-ufrag:next\r\na=ice-pwd:another0password0server\r\na=candidate:"))
    #expect(text.hasSuffix("\r\na=end-of-candidates\r\n"))
    #expect(try TrickleFragment(parsing: ByteBuffer(string: text)).credentials == Self.others)
  }

  @Test func `a session of audio alone names its track, and one without mids names none`() {
    #expect(Self.parameters(video: nil).fragment.contains("m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:1\r\n"))
    #expect(!Self.parameters(video: nil, audio: nil).fragment.contains("m="))
  }
}
