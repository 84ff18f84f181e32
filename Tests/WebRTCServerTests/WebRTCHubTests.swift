import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTP
import Serving
import Streaming
import Synchronization
import Testing
import WebRTC
import WebRTCPeers

@testable import WebRTCServer

@Suite("Sessions of all viewers behind one port")
struct WebRTCHubTests {
  @Test func `viewers get the same frames from one packetization, each with numbers of its own`() throws {
    let server = try EmbeddedHub()
    let viewers = try (1...3).map { try server.connect(UInt8($0)).address }
    #expect(server.viewers == 3 && server.keyframeRequests == 1)
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
    // The response, and a check of the server.
    #expect(server.strays.map(\.0) == [client.address, client.address] && server.security.endpointCount == 0)
  }

  @Test func `a deleted session ends at once, and is unknown then`() throws {
    let server = try EmbeddedHub()
    let (session, viewer) = try server.connect()
    #expect(!server.hub.close(session.id, path: "other"))
    #expect(server.hub.close(session.id, path: "hello") && !server.hub.close(session.id, path: "hello"))
    #expect(server.clients[viewer]?.closings == 1 && server.viewers == 0)
    server.sendVideo(isKeyframe: true)
    #expect(server.clients[viewer]?.video.isEmpty == true && server.hub.count == 0)
  }

  @Test func `a viewer whose connection was made is an event at its beginning, and at its end with the cause`() throws {
    let server = try EmbeddedHub()
    func visit(_ number: Int, from start: MediaTime, _ end: ViewerVisit.End = .client) -> ViewerVisit {
      var visit = ViewerVisit(
        stream: "hello", rendition: "main", protocolName: "webrtc", address: "198.51.100.\(number)", start: start)
      visit.end = end
      return visit
    }
    let start = server.hub.now
    let session = try server.connect(1).session
    _ = try server.connect(2)
    _ = try server.open(3)
    server.loop.advanceTime(by: .milliseconds(1500))
    #expect(server.hub.close(session.id, path: "hello"))
    server.output.streamEnded()
    server.loop.run()
    #expect(
      server.events.all.withLock { $0 } == [
        .viewerJoined(visit(1, from: start)), .viewerJoined(visit(2, from: start)),
        .viewerLeft(visit(1, from: start), after: .milliseconds(1500)),
        .viewerLeft(visit(2, from: start, .stream), after: .milliseconds(1500)),
      ])
  }

  @Test func `a viewer that answers no check any more has left silently, one that is displaced for the limit`() throws {
    let server = try EmbeddedHub()
    let silent = try server.connect(1).address
    // The client answers none of its datagrams.
    server.clients[silent] = nil
    server.loop.advanceTime(by: .seconds(60))
    #expect(server.hub.count == 0)
    server.hub.closeSession(try server.connect(2).session.id, for: .limit)
    #expect(server.hub.count == 0)
    let ends = server.events.all.withLock { $0 }.compactMap { event -> ViewerVisit.End? in
      if case .viewerLeft(let visit, _) = event { visit.end } else { nil }
    }
    #expect(ends == [.silent, .limit])
  }

  @Test func `the end of the stream ends all sessions, also those that were not ready`() throws {
    let server = try EmbeddedHub()
    let viewer = try server.connect(1).address
    _ = try server.open(2)
    #expect(server.hub.count == 2)
    server.output.streamEnded()
    // One whose output was found before.
    #expect(throws: WebRTCRefusal.notFound) { try server.open(3) }
    server.loop.run()
    #expect(server.hub.count == 0 && server.clients[viewer]?.closings == 1)
    #expect(server.outputs.output(of: server.stream.main) == nil)
  }

  @Test func `a session without a check ends after half a minute, with a line that says why`() throws {
    let server = try EmbeddedHub()
    _ = try server.open()
    server.loop.advanceTime(by: .seconds(29))
    #expect(server.hub.count == 1 && server.reported.isEmpty)
    server.loop.advanceTime(by: .seconds(2))
    #expect(server.hub.count == 0 && server.output.statistics.sessionsFailed == [.neverChecked: 1])
    #expect(
      server.reported == [
        "WebRTC of hello: a viewer did not reach this machine; the client was sent 192.0.2.7:8189, and no check of it "
          + "arrived: open this UDP port, or give the address that clients reach with --ice-address"
      ])
  }

  @Test func `a client with another certificate than it offered gets no media, one line and one count`() throws {
    let server = try EmbeddedHub(digest: [UInt8](repeating: 0xCE, count: 32))
    let (_, viewer) = try server.connect()
    server.sendVideo(isKeyframe: true)
    server.loop.advanceTime(by: .seconds(60))
    #expect(server.clients[viewer]?.video.isEmpty == true && server.viewers == 0 && server.hub.count == 0)
    #expect(server.output.statistics.sessionsFailed == [.wrongFingerprint: 1])
    #expect(
      server.reported == [
        "WebRTC of hello: a viewer has another certificate than it offered; the client was sent 192.0.2.7:8189, and "
          + "1 check of it arrived"
      ])
  }

  @Test func `a client that falls silent before its handshake is reported with the number of its checks`() throws {
    let server = try EmbeddedHub()
    var (_, client) = try server.open()
    for _ in 0..<3 { server.deliver(client.check(nominates: false), from: client.address) }
    server.loop.advanceTime(by: .seconds(60))
    #expect(server.output.statistics.sessionsFailed == [.setupTimedOut: 1])
    #expect(
      server.reported == [
        "WebRTC of hello: a viewer did not finish its connection within 30 s; the client was sent 192.0.2.7:8189, and "
          + "3 checks of it arrived"
      ])
  }

  @Test func `a session that checks each second and makes no handshake ends after half a minute`() throws {
    let server = try EmbeddedHub()
    let (_, client) = try server.open()
    server.clients[client.address] = client
    for _ in 0..<29 {
      let check = server.clients[client.address]?.check()
      server.deliver(try #require(check), from: client.address)
      server.loop.advanceTime(by: .seconds(1))
    }
    #expect(server.hub.count == 1)
    server.loop.advanceTime(by: .seconds(2))
    #expect(server.hub.count == 0 && server.output.statistics.sessionsFailed == [.setupTimedOut: 1])
  }

  @Test func `a handshake that overtakes the proof of its address is answered with the proof`() throws {
    let server = try EmbeddedHub()
    var (_, client) = try server.open()
    server.deliver(client.check(), from: client.address)
    server.deliver(SessionClient.hello, from: client.address)
    #expect(server.security.endpointCount == 0)
    for (_, datagram) in server.strays { try client.receive(datagram) }
    server.clients[client.address] = client
    for reply in client.takeReplies() { server.deliver(reply, from: client.address) }
    #expect(server.security.endpointCount == 1 && server.viewers == 1)
  }

  @Test func `a forged check takes no viewer's address, and no media goes to a third party`() throws {
    let server = try EmbeddedHub()
    let viewer = try server.connect(1).address
    var (_, attacker) = try server.open(2)
    server.sendVideo(isKeyframe: true)
    server.deliver(attacker.check(), from: viewer)
    let victim = try #require(TransportAddress("203.0.113.9", port: 53))
    for _ in 0..<50 {
      server.deliver(attacker.check(), from: victim)
      server.sendVideo()
    }
    #expect(!server.strays.isEmpty && server.strays.allSatisfy { DatagramKind($0.1) == .stun && $0.0 == victim })
    // The viewer's requests are still its own.
    let number = try #require(server.clients[viewer]?.video[1].header.sequenceNumber)
    server.deliver(try server.feedback(.nack(RTCPNackPair.pairs([number])), of: viewer), from: viewer)
    #expect(server.clients[viewer]?.retransmitted == 1)
  }

  @Test func `a viewer whose tab was closed leaves after twenty seconds`() throws {
    let server = try EmbeddedHub()
    let viewer = try server.connect().address
    server.loop.advanceTime(by: .seconds(60))
    #expect(server.viewers == 1, "its browser answers checks")
    server.clients[viewer]?.answersChecks = false
    server.loop.advanceTime(by: .seconds(13))
    #expect(server.viewers == 1)
    server.loop.advanceTime(by: .seconds(8))
    #expect(server.viewers == 0 && server.reported.isEmpty)
  }

  @Test func `sessions are bounded in total and for each client`() throws {
    var settings = WebRTCServerSettings()
    (settings.maximumSessionCount, settings.maximumSessionCountPerClient) = (3, 2)
    let server = try EmbeddedHub(settings: settings)
    _ = try server.open(1)
    _ = try server.open(1)
    #expect(throws: WebRTCRefusal.tooManySessions) { _ = try server.open(1) }
    _ = try server.connect(2)
    // The client with the most sessions loses one that is not connected.
    _ = try server.open(3)
    #expect(server.hub.count == 3 && server.viewers == 1 && server.refusals[.overLimit] == 2)
  }

  @Test func `ten thousand offers without a check are bounded, and begin no handshake`() throws {
    let server = try EmbeddedHub()
    let offer = try EmbeddedHub.offer()
    var refused = 0
    for number in 0..<10_000 as Range<UInt32> {
      // Of 200 addresses.
      let session = try? server.hub.open(
        offer, of: server.output, path: "hello", candidates: [EmbeddedHub.candidate],
        client: .v4(0xC633_0000 | number % 200))
      if session == nil { refused += 1 }
    }
    #expect(server.hub.count == 1000 && refused == 0 && server.refusals[.overLimit] == 9000)
    #expect(server.security.endpointCount == 0)
    server.loop.advanceTime(by: .seconds(31))
    #expect(server.hub.count == 0 && server.security.endpointCount == 0)
    // The first check is what begins one.
    _ = try server.connect(1)
    #expect(server.security.endpointCount == 1 && server.viewers == 1)
  }

  @Test func `a client over TCP and one over UDP with the same numbers are two`() throws {
    let server = try EmbeddedHub()
    let (_, viewer) = try server.connect(1)
    var stream = viewer
    stream.isTCP = true
    #expect(server.hub.hasSession(at: viewer) && !server.hub.hasSession(at: stream))
    var (_, client) = try server.open(1)
    server.deliver(client.check(), from: stream)
    #expect(server.hub.hasSession(at: stream) && server.strays.map(\.0) == [stream])
    server.sendVideo(isKeyframe: true)
    #expect(server.clients[viewer]?.video.isEmpty == false)
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
    #expect(server.output.statistics.packetsRetransmitted == 1)
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
    #expect(server.viewers == 1)
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
    #expect(throws: WebRTCRefusal.notFound) {
      _ = try server.hub.change("0", path: "hello", fragment("clnt"), entityTags: nil)
    }
    // The URL of another stream, or of a rendition.
    for path in ["other", "hello/low", ""] {
      #expect(throws: WebRTCRefusal.notFound) {
        _ = try server.hub.change(session.id, path: path, fragment("next"), entityTags: session.entityTag)
      }
    }
    #expect(throws: WebRTCRefusal.preconditionRequired) {
      _ = try server.hub.change(session.id, path: "hello", fragment("next"), entityTags: nil)
    }
    #expect(throws: WebRTCRefusal.preconditionFailed) {
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
    server.output.discardEarlier()
    server.loop.run()
    #expect(server.discardCount == 1, "what waits for the send buffer is dropped")
    let request = try server.feedback(.nack(RTCPNackPair.pairs([number])), of: viewer)
    server.deliver(request, from: viewer)
    #expect(server.clients[viewer]?.retransmitted == 0)
  }

  @Test func `audio is encoded while a viewer listens, not for viewers of video alone`() throws {
    let server = try EmbeddedHub([.h264(EmbeddedHub.h264), .aac(EmbeddedHub.aac)])
    let first = try server.connect(1).address
    server.sendAudio(count: 10)
    #expect(!server.output.isEncodingAudio && server.output.hasAudio)
    let (session, second) = try server.connect(2, [.video, .audio])
    server.sendAudio(count: 10)
    #expect(server.output.isEncodingAudio)
    #expect(try #require(server.clients[second]).audio.count >= 5)
    #expect(try #require(server.clients[first]).audio.isEmpty)
    #expect(server.hub.close(session.id, path: "hello"))
    #expect(!server.output.isEncodingAudio && server.viewers == 1)
    server.sendAudio(count: 10)
    #expect(!server.output.isEncodingAudio)
    // The next one has an encoder again.
    let third = try server.connect(3, [.video, .audio]).address
    server.sendAudio(count: 10)
    #expect(try #require(server.clients[third]).audio.count >= 5)
  }

  @Test func `an offer of audio alone gets audio alone, and no keyframe is encoded for it`() throws {
    let server = try EmbeddedHub([.h264(EmbeddedHub.h264), .aac(EmbeddedHub.aac)])
    let (session, viewer) = try server.connect(1, .audio)
    let answer = String(buffer: session.answer)
    #expect(answer.contains("m=audio 8189 ") && answer.contains("a=sendonly") && !answer.contains("m=video"))
    #expect(server.viewers == 1 && server.keyframeRequests == 0)
    server.sendVideo(isKeyframe: true)
    server.sendAudio(count: 10)
    let client = try #require(server.clients[viewer])
    #expect(client.audio.count >= 5 && client.video.isEmpty)
  }

  @Test func `a viewer that no rendition fits gets audio alone, and video again from a keyframe on`() throws {
    let server = try EmbeddedHub([.h264(EmbeddedHub.h264), .aac(EmbeddedHub.aac)])
    let (session, address) = try server.connect(1, [.video, .audio])
    let viewer = try #require(server.hub.viewer(named: session.id))
    server.sendVideo(isKeyframe: true)
    let packets = try #require(server.clients[address]).received.count
    #expect(packets > 0 && viewer.rendition == "main")
    server.hub.move(viewer, to: .audioOnly, among: [])
    server.sendVideo(isKeyframe: true)
    server.sendAudio(count: 10)
    #expect(viewer.rendition == "audio" && viewer.statistics.rendition == "audio")
    #expect(try #require(server.clients[address]).received.count == packets)
    #expect(try #require(server.clients[address]).audio.count >= 5)
    server.hub.move(viewer, to: .rendition(0), among: [])
    let requests = server.keyframeRequests
    server.sendVideo()
    #expect(server.keyframeRequests == requests + 1 && viewer.rendition == "main")
    #expect(try #require(server.clients[address]).received.count == packets)
    server.sendVideo(isKeyframe: true)
    #expect(try #require(server.clients[address]).received.count > packets)
  }

  @Test func `a viewer without audio keeps its video, however slow its network`() throws {
    let server = try EmbeddedHub()
    let (session, address) = try server.connect()
    let viewer = try #require(server.hub.viewer(named: session.id))
    server.hub.move(viewer, to: .audioOnly, among: [])
    server.sendVideo(isKeyframe: true)
    #expect(viewer.rendition == "main" && server.clients[address]?.video.isEmpty == false)
  }

  @Test func `a viewer gets the transcoding while its format does not decode the stream, and the stream again`() throws
  {
    let server = try EmbeddedHub(hasLow: true, isHigh: (true, false))
    let transcoding = try #require(server.transcodings.main)
    let address = try server.connect().address
    func received() throws -> Int { try #require(server.clients[address]).received.count }
    func viewers() -> [Int] { [server.output, transcoding].map { $0.statistics.viewers } }
    #expect(viewers() == [0, 1])
    server.sendVideo(isKeyframe: true, of: transcoding)
    var count = try received()
    #expect(count > 0)
    // The source is switched to one of Constrained Baseline.
    server.output.descriptionChanged(to: .h264(EmbeddedHub.h264))
    server.loop.run()
    server.sendVideo(of: transcoding)
    #expect(try received() > count, "the transcoding goes on until the stream's keyframe")
    count = try received()
    server.sendVideo(isKeyframe: true)
    #expect(try received() > count)
    #expect(viewers() == [1, 0])
    // And back to one of High.
    count = try received()
    server.output.descriptionChanged(to: .h264(EmbeddedHub.high))
    server.loop.run()
    server.sendVideo(isKeyframe: true)
    server.sendVideo()
    #expect(try received() == count, "frames that the client does not decode")
    server.sendVideo(isKeyframe: true, of: transcoding)
    #expect(try received() > count)
    #expect(viewers() == [0, 1])
  }

  @Test func `a viewer gets a stream that it does not decode by its offer where there is no transcoding`() throws {
    let server = try EmbeddedHub()
    let address = try server.connect().address
    server.output.descriptionChanged(to: .h264(EmbeddedHub.high))
    server.loop.run()
    server.sendVideo(isKeyframe: true)
    #expect(server.clients[address]?.received.isEmpty == false && server.viewers == 1)
  }
}
