import Media
import Testing

@testable import WebRTCServer

@Suite("STUN and TURN servers for clients")
struct ICEServerTests {
  @Test(
    arguments: [
      ("stun:stun.example.net", "<stun:stun.example.net>; rel=\"ice-server\""),
      ("stun:192.0.2.1:3478", "<stun:192.0.2.1:3478>; rel=\"ice-server\""),
      ("stuns:[2001:db8::1]:5349", "<stuns:[2001:db8::1]:5349>; rel=\"ice-server\""),
      (
        "turn:us:p%40:w@turn.example.net:3478?transport=tcp",
        "<turn:turn.example.net:3478?transport=tcp>; rel=\"ice-server\"; username=\"us\"; credential=\"p@:w\"; "
          + "credential-type=\"password\""
      ),
    ])
  func `a server is a value of Link`(text: String, link: String) throws {
    #expect(try ICEServer(text).link == link)
  }

  @Test func `the password is in no description`() throws {
    let server = try ICEServer("turn:us:geheim@turn.example.net")
    #expect("\(server)" == "turn:turn.example.net" && server.credentials?.password == "geheim")
  }

  @Test(
    arguments: [
      "", "stun", "stun:", "http://a",
      "turn:a.example", "turn:us@a.example", "turn::pw@a.example", "turn:us:@a.example",
      "stun:us:pw@a.example", "stun:a b", "stun:a.example:0", "stun:a.example:99999", "stun:a.example?transport=udp",
      "turn:us:geheim@a.example?transport=x", "turn:us:geheim%22@a.example", "turn:us:geheim%0d@a.example",
      "turn:us:geheim%4@a.example", "turn:us:geheim@a\r\nX: y", "stun:[zz]",
    ])
  func `what is no server is refused, without repeating it`(text: String) {
    #expect {
      _ = try ICEServer(text)
    } throws: { error in
      (error as? VidiconError)?.code == .invalidSpecification && !"\(error)".contains("geheim")
    }
  }
}
