import Authentication
import Connections
import Media
import NIOCore
import NIOEmbedded
import RTP
import Testing
import WebRTC
import WebRTCPeers

@testable import WebRTCServer

@Suite("Sessions of all viewers behind one port")
struct WebRTCHubTests {
  @Test func `viewers get the same frames from one packetization, each with numbers of its own`() throws {
    let server = try EmbeddedHub()
    let viewers = try (1...3).map { try server.connect(UInt8($0)).address }
    #expect(server.broadcaster.statistics.viewers == 3 && server.keyframeRequests == 1)
    server.sendVideo()
    server.sendVideo(isKeyframe: true)
    server.sendVideo()
    for viewer in viewers {
      let packets = try #require(server.clients[viewer]?.video)
      // Parameter sets and three fragments, then three fragments.
      #expect(packets.count == 7 && packets.map(\.header.marker).filter(\.self).count == 2)
      #expect(packets[0].payload.readableBytesView.first.map { $0 & 0x1F } == 24)
      #expect(Set(packets.dropFirst().map(\.payload.readableBytes)).isSubset(of: [1002, 1001]))
    }
    let ssrcs = viewers.compactMap { server.clients[$0]?.video.first?.header.ssrc }
    #expect(Set(ssrcs).count == 3)
    // One system call for all viewers of a frame.
    #expect(try #require(server.batches.last) == 3)
  }

  @Test func `datagrams without a session are not answered`() throws {
    let server = try EmbeddedHub()
    var (_, client) = try server.open()
    let stranger = try #require(TransportAddress("203.0.113.9", port: 9))
    var buffer = ByteBuffer()
    STUNMessage(.request, transactionID: .init(1, 2), attributes: [.username("nobody:x"), .priority(1)]).serialize(
      into: &buffer, key: STUNKey(password: "wrong"))
    for datagram in [buffer, SessionClient.hello, ByteBuffer(bytes: [128, 200]), ByteBuffer(bytes: [128, 96])] {
      server.deliver(datagram, from: stranger)
    }
    #expect(server.strays.isEmpty)
    // DTLS of an address that has not checked.
    server.deliver(SessionClient.hello, from: client.address)
    #expect(server.strays.isEmpty && server.batches.isEmpty)
    server.deliver(client.check(), from: client.address)
    #expect(server.strays.map(\.0) == [client.address])
  }

  @Test func `a deleted session ends at once, and is unknown then`() throws {
    let server = try EmbeddedHub()
    let (session, viewer) = try server.connect()
    #expect(!server.hub.close(session.id, path: "other"))
    #expect(server.hub.close(session.id, path: "hello") && !server.hub.close(session.id, path: "hello"))
    #expect(server.clients[viewer]?.closings == 1 && server.broadcaster.statistics.viewers == 0)
    server.sendVideo(isKeyframe: true)
    #expect(server.clients[viewer]?.video.isEmpty == true && server.hub.count == 0)
  }

  @Test func `the end of the stream ends all sessions, also those that were not ready`() throws {
    let server = try EmbeddedHub()
    let viewer = try server.connect(1).address
    _ = try server.open(2)
    #expect(server.hub.count == 2)
    server.broadcaster.streamEnded()
    server.loop.run()
    #expect(server.hub.count == 0 && server.clients[viewer]?.closings == 1)
    #expect(server.directory.broadcaster(of: server.stream) == nil)
  }

  @Test func `a session without a check ends after half a minute, with a line that says why`() throws {
    let server = try EmbeddedHub()
    _ = try server.open()
    server.loop.advanceTime(by: .seconds(29))
    #expect(server.hub.count == 1 && server.reported.isEmpty)
    server.loop.advanceTime(by: .seconds(2))
    #expect(server.hub.count == 0 && server.broadcaster.statistics.sessionsFailed == 1)
    #expect(
      server.reported == [
        "WebRTC of hello: a viewer did not reach this machine; the client was told 192.0.2.7:8189, and no check of it "
          + "arrived: open this UDP port, or give the address that clients reach with --ice-address"
      ])
  }

  @Test func `a viewer whose tab was closed leaves after twenty seconds`() throws {
    let server = try EmbeddedHub()
    _ = try server.connect()
    server.loop.advanceTime(by: .seconds(19))
    #expect(server.broadcaster.statistics.viewers == 1)
    server.loop.advanceTime(by: .seconds(2))
    #expect(server.broadcaster.statistics.viewers == 0 && server.reported.isEmpty)
  }

  @Test func `sessions are bounded in total and for each client`() throws {
    var settings = WebRTCServerSettings()
    (settings.maximumSessionCount, settings.maximumSessionCountPerClient) = (3, 2)
    let server = try EmbeddedHub(settings: settings)
    _ = try server.open(1)
    _ = try server.open(1)
    #expect(throws: WHEPRefusal.tooManySessions) { _ = try server.open(1) }
    _ = try server.open(2)
    #expect(throws: WHEPRefusal.tooManySessions) { _ = try server.open(3) }
    #expect(server.refusals[.overLimit] == 2)
  }

  @Test func `a lost packet is sent again to its viewer only, and counted`() throws {
    let server = try EmbeddedHub()
    let viewers = try (1...2).map { try server.connect(UInt8($0)).address }
    server.sendVideo(isKeyframe: true)
    let number = try #require(server.clients[viewers[0]]?.video[1].header.sequenceNumber)
    let request = try server.feedback(.nack(RTCPNackPair.pairs([number])), of: viewers[0])
    server.deliver(request, from: viewers[0])
    #expect(server.clients[viewers[0]]?.retransmitted == 1 && server.clients[viewers[1]]?.retransmitted == 0)
    server.loop.advanceTime(by: .milliseconds(20))
    #expect(server.broadcaster.statistics.packetsRetransmitted == 1)
  }

  @Test func `a viewer that always asks for keyframes does not get more than a fifth of the bits for it`() throws {
    let server = try EmbeddedHub()
    let viewer = try server.connect().address
    server.sendVideo(isKeyframe: true, length: 30_000)
    var asked = server.keyframeRequests
    var (keyframes, bytes) = (0, 0)
    for _ in 0..<900 {
      let request = try server.feedback(.pictureLossIndication, of: viewer)
      server.deliver(request, from: viewer)
      let isAsked = server.keyframeRequests > asked
      asked = server.keyframeRequests
      server.sendVideo(isKeyframe: isAsked, length: isAsked ? 30_000 : 3000)
      if isAsked { keyframes += 30_000 }
      bytes += isAsked ? 30_000 : 3000
      server.loop.advanceTime(by: .milliseconds(33))
      if server.clients[viewer]?.responses.count ?? 0 < 900, let check = server.clients[viewer]?.check() {
        server.deliver(check, from: viewer)
      }
    }
    #expect(keyframes > 0 && keyframes < bytes / 4)
    #expect(server.broadcaster.statistics.viewers == 1)
  }

  @Test func `ICE is restarted with the right entity tag only, and media goes on`() throws {
    let server = try EmbeddedHub()
    let (session, viewer) = try server.connect()
    func fragment(_ name: String) throws -> TrickleFragment {
      try TrickleFragment(
        parsing: ByteBuffer(string: "a=ice-ufrag:\(name)\r\na=ice-pwd:client0password0client\r\n"))
    }
    let same = try server.hub.change(session.id, path: "hello", fragment("clnt"), entityTags: nil)
    #expect(same == .candidates)
    #expect(throws: WHEPRefusal.notFound) {
      _ = try server.hub.change("0", path: "hello", fragment("clnt"), entityTags: nil)
    }
    #expect(throws: WHEPRefusal.preconditionRequired) {
      _ = try server.hub.change(session.id, path: "hello", fragment("next"), entityTags: nil)
    }
    #expect(throws: WHEPRefusal.preconditionFailed) {
      _ = try server.hub.change(session.id, path: "hello", fragment("next"), entityTags: "\"old\"")
    }
    let change = try server.hub.change(
      session.id, path: "hello", fragment("next"), entityTags: "\"x\", \(session.entityTag)")
    guard case .restarted(let text, let entityTag) = change else {
      Issue.record("\(change)")
      return
    }
    #expect(entityTag != session.entityTag && String(buffer: text).contains("a=candidate:1 1 udp"))
    #expect(
      try TrickleFragment(parsing: text).credentials?.usernameFragment == String(entityTag.dropFirst().dropLast()))
    server.sendVideo(isKeyframe: true)
    #expect(server.clients[viewer]?.video.isEmpty == false)
  }

  @Test func `frames that must not be shown any more are not sent again`() throws {
    let server = try EmbeddedHub()
    let viewer = try server.connect().address
    server.sendVideo(isKeyframe: true)
    let number = try #require(server.clients[viewer]?.video[1].header.sequenceNumber)
    server.broadcaster.discardEarlier()
    server.loop.run()
    #expect(server.discardCount == 1, "what waits for the send buffer is dropped")
    let request = try server.feedback(.nack(RTCPNackPair.pairs([number])), of: viewer)
    server.deliver(request, from: viewer)
    #expect(server.clients[viewer]?.retransmitted == 0)
  }
}
