import Media
import Testing

@testable import WebRTC

@Suite("WHIP endpoint, RFC 9725")
struct WHIPEndpointTests {
  private static func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  private static let taken = WHIPEndpoint.Taken(retryAfter: 3)

  /// Opens a session that sends media at a time.
  private static func publish(_ session: String, _ endpoint: inout WHIPEndpoint, at milliseconds: Int64) throws {
    _ = try endpoint.open(session, takesOver: false, at: Self.time(milliseconds))
    endpoint.handleMedia(of: session, at: Self.time(milliseconds))
  }

  /// Whether an offer is read.
  private static func admits(
    _ endpoint: inout WHIPEndpoint, takesOver: Bool = false, at milliseconds: Int64
  ) -> Bool {
    do throws(WHIPEndpoint.Taken) {
      try endpoint.admit(takesOver: takesOver, at: Self.time(milliseconds))
      return true
    } catch {
      #expect(error == Self.taken)
      return false
    }
  }

  @Test func `a session is opened, sends media, and ends`() throws {
    var endpoint = WHIPEndpoint()
    #expect(Self.admits(&endpoint, at: 0))
    #expect(try endpoint.open("a", takesOver: false, at: .zero) == nil)
    #expect(endpoint.session == "a" && !endpoint.isLive(at: .zero))
    endpoint.handleMedia(of: "a", at: Self.time(100))
    #expect(endpoint.isLive(at: Self.time(2099)) && !endpoint.isLive(at: Self.time(2100)))
    endpoint.close("a")
    #expect(endpoint.session == nil)
    #expect(Self.admits(&endpoint, at: 300))
    #expect(endpoint.counters.opened == 1 && endpoint.counters.refused == 0)
  }

  @Test func `a live publisher is displaced by a wish to take over only`() throws {
    var endpoint = WHIPEndpoint()
    try Self.publish("a", &endpoint, at: 0)
    #expect(!Self.admits(&endpoint, at: 1999))
    #expect(Self.admits(&endpoint, takesOver: true, at: 1999))
    #expect(try endpoint.open("b", takesOver: true, at: Self.time(1999)) == "a")
    // The displaced one changes nothing any more.
    endpoint.handleMedia(of: "a", at: Self.time(2000))
    endpoint.close("a")
    #expect(endpoint.session == "b" && !endpoint.isLive(at: Self.time(2000)))
    #expect(endpoint.counters.opened == 2 && endpoint.counters.takenOver == 1)
    #expect(endpoint.counters.refused == 1 && endpoint.counters.replaced == 0)
  }

  @Test func `a publisher that fell silent is replaced at once`() throws {
    var endpoint = WHIPEndpoint()
    try Self.publish("a", &endpoint, at: 0)
    #expect(Self.admits(&endpoint, at: 2000))
    #expect(try endpoint.open("b", takesOver: false, at: Self.time(2000)) == "a")
    #expect(endpoint.counters.opened == 2 && endpoint.counters.replaced == 1 && endpoint.counters.takenOver == 0)
  }

  @Test func `a session may connect for five seconds before it counts as silent`() throws {
    var endpoint = WHIPEndpoint()
    _ = try endpoint.open("a", takesOver: false, at: .zero)
    #expect(!Self.admits(&endpoint, at: 4999))
    #expect(Self.admits(&endpoint, at: 5000))
  }

  @Test func `of two offers that are read at once, the first that is opened wins`() throws {
    var endpoint = WHIPEndpoint()
    #expect(Self.admits(&endpoint, at: 0))
    #expect(Self.admits(&endpoint, at: 0))
    #expect(try endpoint.open("a", takesOver: false, at: Self.time(10)) == nil)
    #expect(throws: Self.taken) { try endpoint.open("b", takesOver: false, at: Self.time(11)) }
    #expect(endpoint.session == "a" && endpoint.counters.opened == 1 && endpoint.counters.refused == 1)
  }

  @Test func `two programs that reconnect by themselves do not displace each other, and each attempt is counted`()
    throws
  {
    var endpoint = WHIPEndpoint()
    var admitted = 0
    try Self.publish("a0", &endpoint, at: 0)
    // The first program sends media; the second tries each second for ten minutes.
    for second in Int64(1)...600 {
      endpoint.handleMedia(of: "a0", at: Self.time(second * 1000))
      if Self.admits(&endpoint, at: second * 1000 + 500) { admitted += 1 }
    }
    #expect(admitted == 0 && endpoint.counters.refused == 600 && endpoint.session == "a0")
    // The first program dies: the second one comes in within its silence and a second.
    var time: Int64 = 600_500
    while !Self.admits(&endpoint, at: time), time < 700_000 { time += 1000 }
    #expect(time <= 603_000)
  }
}
