import Media
import NIOCore
import Testing
import WebRTC

@Suite("Candidates and trickle ICE, RFC 8839 and RFC 8840")
struct TrickleFragmentTests {
  @Test func `the fragment of RFC 8840 §9 parses`() throws {
    // Shortened to one track; RFC 9725 §4.3 sends the same.
    let text = """
      a=ice-ufrag:EsAw\r
      a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r
      m=audio 9 RTP/AVP 0\r
      a=mid:0\r
      a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw network-id 1\r
      a=candidate:3471623853 1 udp 2122194687 0f5ff3e5-5d56-4c3a-a5f7-9a1f6a2f1f3b.local 61765 typ host\r
      a=candidate:473322822 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active\r
      a=end-of-candidates\r

      """
    let fragment = try TrickleFragment(parsing: ByteBuffer(string: text))
    #expect(fragment.credentials?.usernameFragment == "EsAw" && fragment.isComplete)
    #expect(fragment.candidates.map(\.transport) == ["udp", "udp", "tcp"])
    #expect(fragment.candidates.map(\.address?.port) == [61_764, nil, 9])
    #expect(fragment.candidates.map(\.kind) == [.host, .host, .host])
  }

  @Test func `candidates are bounded, and bad ones left out`() throws {
    let line = "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\n"
    let many = try TrickleFragment(parsing: ByteBuffer(string: String(repeating: line, count: 500)))
    #expect(many.candidates.count == TrickleFragment.maximumCandidateCount)
    let bad = try TrickleFragment(parsing: ByteBuffer(string: "a=candidate:1 1 udp\na=mid:0\n"))
    #expect(bad.candidates.isEmpty && !bad.isComplete && bad.credentials == nil)
    for text in ["", "hello", "v=0\nm=audio 9 RTP/AVP 0\n"] {
      #expect(throws: ParsingError(.missing, field: "sdpfrag")) {
        try TrickleFragment(parsing: ByteBuffer(string: text))
      }
    }
    #expect(throws: ParsingError(.tooLarge, field: "sdpfrag")) {
      try TrickleFragment(parsing: ByteBuffer(repeating: 0x61, count: TrickleFragment.maximumLength + 1))
    }
  }

  @Test(arguments: [
    "1 1 udp 1 192.0.2.1 1 typ", "1 0 udp 1 192.0.2.1 1 typ host", "1 1 udp x 192.0.2.1 1 typ host",
    "1 1 udp 1 192.0.2.1 65536 typ host", "1 1 udp 1 192.0.2.1 1 typ other", "1 1 udp 1 192.0.2.1 1 host typ",
    "\(String(repeating: "1", count: 33)) 1 udp 1 192.0.2.1 1 typ host",
  ])
  func `malformed candidates are refused`(text: String) {
    #expect(throws: ParsingError.self) { try ICECandidate(parsing: text) }
  }

  @Test func `a candidate survives a round trip`() throws {
    for kind in ["host", "srflx", "prflx", "relay"] {
      let text = "842163049 1 udp 1677729535 2001:db8::1 46154 typ \(kind)"
      #expect(try ICECandidate(parsing: text).description == text)
    }
  }
}
