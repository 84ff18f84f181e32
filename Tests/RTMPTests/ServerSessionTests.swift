import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("Session of a server, RTMP 1.0 §7.2")
struct ServerSessionTests {
  @Test func `the result of connect begins with window, bandwidth and chunk size, byte by byte`() throws {
    var server = try TestServerSession()
    let actions = server.session.receive(server.peer.chunks([TestServerSession.connect.message()]), now: .zero)
    guard case .send(var output)? = actions.first else { throw ParsingError(.missing, field: "result") }
    #expect(actions.count == 1)
    let golden = bytes(
      "02 000000 000004 05 00000000 002625A0"  // Window Acknowledgement Size, 2,500,000
        + "02 000000 000005 06 00000000 002625A0 02"  // Set Peer Bandwidth, dynamic
        + "02 000000 000004 01 00000000 00007FFF")  // Set Chunk Size, 32,767
    #expect(output.readSlice(length: golden.readableBytes) == golden)
    // Chunk stream 3, a command in AMF 0 on message stream 0: `_result` of transaction 1.
    #expect(output.getInteger(at: output.readerIndex, as: UInt8.self) == 3)
    output.moveReaderIndex(forwardBy: 7)
    let command = bytes("14 00000000 02 0007 5F726573756C74 00 3FF0000000000000 03")
    #expect(output.readSlice(length: command.readableBytes) == command)
  }

  @Test func `a player gets Stream Begin and two statuses before its media`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    #expect(try server.receive([TestServerSession.play.message()]) == ["decide"])
    #expect(server.session.isDeciding && !server.session.willPublish && !server.session.isPlaying)
    #expect(
      try server.accept() == [
        "streamBegin(1)", "1: onStatus 0.0 NetStream.Play.Reset", "1: onStatus 0.0 NetStream.Play.Start", "start",
      ])
    #expect(server.session.isPlaying && !server.session.isDeciding && server.session.nextDeadline == nil)
  }

  @Test func `a publisher gets Stream Begin and one status`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    #expect(try server.receive([TestServerSession.publish.message()]) == ["decide"])
    #expect(server.session.willPublish == true)
    #expect(try server.accept() == ["streamBegin(1)", "1: onStatus 0.0 NetStream.Publish.Start"])
    #expect(server.session.isPublishing == true)
  }

  @Test func `messages behind a request wait for its decision`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    let ping = RTMPControlMessage.pingRequest(5).message
    #expect(try server.receive([TestServerSession.play.message(), ping]) == ["decide"])
    #expect(try server.receive([ping]) == [])
    #expect(try server.accept().suffix(3) == ["start", "pingResponse(5)", "pingResponse(5)"])
    #expect(try server.accept() == [], "accepted already")
  }

  @Test func `messages behind more responses than may wait are handled once those are sent`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    // A response of 18 bytes each: the second one exceeds 35.
    let pings = server.peer.chunks((1...5).map { RTMPControlMessage.pingRequest($0).message })
    let first = server.session.receive(pings, now: .zero, allowance: 35)
    #expect(try server.perform(first) == ["pingResponse(1)", "pingResponse(2)"])
    #expect(server.session.receive(ByteBuffer(), now: .zero, allowance: -1).isEmpty)
    let second = server.session.resume(now: .zero, allowance: 0)
    #expect(try server.perform(second) == ["pingResponse(3)"])
    let rest = server.session.resume(now: .zero, allowance: 35)
    #expect(try server.perform(rest) == ["pingResponse(4)", "pingResponse(5)"])
    #expect(server.session.resume(now: .zero, allowance: 35).isEmpty && server.session.heldByteCount == 0)
  }

  @Test func `an accepted request's answer counts among the responses that wait`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    let ping = RTMPControlMessage.pingRequest(5).message
    #expect(try server.receive([TestServerSession.play.message(), ping]) == ["decide"])
    let actions = server.session.accept(now: .zero, allowance: 0)
    #expect(try server.perform(actions).last == "start")
    let rest = server.session.resume(now: .zero, allowance: 0)
    #expect(try server.perform(rest) == ["pingResponse(5)"])
  }

  @Test(arguments: [
    (RTMPRefusal.notFound, "NetStream.Play.StreamNotFound", "NetStream.Publish.BadName"),
    (.unauthorized, "NetStream.Play.Failed", "NetStream.Publish.Failed"),
    (.throttled, "NetStream.Play.Failed", "NetStream.Publish.Failed"),
    (.alreadyPublished, "NetStream.Play.BadName", "NetStream.Publish.BadName"),
    (.unsupported("no"), "NetStream.Play.Rejected", "NetStream.Publish.Rejected"),
  ])
  func `each refusal has the code of its purpose, and ends the connection`(
    refusal: RTMPRefusal, play: String, publish: String
  ) throws {
    for (request, code) in [(TestServerSession.play, play), (TestServerSession.publish, publish)] {
      var server = try TestServerSession([TestServerSession.connect, request])
      let actions = server.session.refuse(refusal, now: .zero)
      #expect(try server.perform(actions) == ["1: onStatus 0.0 \(code)", "close: refused"])
      #expect(server.session.refuse(refusal, now: .zero).isEmpty && server.session.accept(now: .zero).isEmpty)
      #expect(try server.receive([RTMPControlMessage.pingRequest(1).message]) == [], "closed")
    }
  }

  @Test func `a second request on a connection is an error and changes nothing`() throws {
    var server = try TestServerSession([TestServerSession.connect, TestServerSession.play])
    _ = try server.accept()
    for second in [TestServerSession.play, TestServerSession.publish] {
      #expect(try server.receive([second.message()]) == ["0: _error 3.0 NetConnection.Call.Failed"])
    }
    #expect(server.session.isPlaying == true)
  }

  @Test(arguments: ["closeStream", "deleteStream", "FCUnpublish"])
  func `a client that leaves may make another request`(name: String) throws {
    var player = try TestServerSession([TestServerSession.connect, TestServerSession.play])
    _ = try player.accept()
    let leave = RTMPCommand(name, arguments: [1]).message()
    #expect(try player.receive([leave]) == ["stop", "1: onStatus 0.0 NetStream.Play.Stop"])
    #expect(try player.receive([leave]) == [], "left already")
    #expect(try player.receive([TestServerSession.publish.message()]) == ["decide"])
    _ = try player.accept()
    #expect(try player.receive([leave]) == ["stop publishing", "1: onStatus 0.0 NetStream.Unpublish.Success"])
    #expect(try player.receive([TestServerSession.play.message()]) == ["decide"])
  }

  @Test func `a paused player that leaves is not stopped twice`() throws {
    var server = try TestServerSession([TestServerSession.connect, TestServerSession.play])
    _ = try server.accept()
    let pause = RTMPCommand("pause", arguments: [true, 0]).message(streamID: 1)
    #expect(try server.receive([pause]) == ["stop", "1: onStatus 0.0 NetStream.Pause.Notify"])
    #expect(
      try server.receive([RTMPCommand("closeStream").message()]) == ["1: onStatus 0.0 NetStream.Play.Stop"])
  }

  @Test func `media counts from a publisher only, while it publishes`() throws {
    let media = [RTMPMessageType.audio, .video, .dataAMF0, .dataAMF3].map {
      RTMPMessage(type: $0, timestamp: 9, streamID: 1, payload: bytes("00"))
    }
    var server = try TestServerSession([TestServerSession.connect])
    #expect(try server.receive(media) == [])
    _ = try server.receive([TestServerSession.publish.message()])
    _ = try server.accept()
    let unknown = RTMPMessage(type: .init(rawValue: 99), streamID: 1, payload: bytes("00"))
    #expect(
      try server.receive(media + [unknown])
        == ["publish 8 at 9", "publish 9 at 9", "publish 18 at 9", "publish 15 at 9"])
  }

  @Test func `a truncated command, or a chunk size of 0, closes the connection, and ends what was going on`() throws {
    let truncated = RTMPMessage(type: .commandAMF0, payload: bytes("02 0004 70"))
    let size = RTMPMessage(type: .setChunkSize, payload: bytes("00000000"))
    for (message, text) in [(truncated, "close: truncated string"), (size, "close: invalid chunk size")] {
      var player = try TestServerSession([TestServerSession.connect, TestServerSession.play])
      _ = try player.accept()
      #expect(try player.receive([message]) == ["stop", text])
      var publisher = try TestServerSession([TestServerSession.connect, TestServerSession.publish])
      _ = try publisher.accept()
      #expect(try publisher.receive([message]) == ["stop publishing", text])
      #expect(publisher.session.heldByteCount == 0 && publisher.session.nextDeadline == nil)
    }
  }

  @Test func `a message of 16 MB that a publisher only announces closes the connection, and nothing is held`() throws {
    var server = try TestServerSession([TestServerSession.connect, TestServerSession.publish])
    _ = try server.accept()
    let actions = server.session.receive(bytes("06 000000 FFFFFF 09 01000000 17"), now: .zero)
    #expect(try server.perform(actions) == ["stop publishing", "close: tooLarge message length"])
    #expect(server.session.heldByteCount == 0 && server.session.nextDeadline == nil)
  }

  @Test func `the end of the server says nothing to a client that has not connected, and all to a player`() throws {
    var early = try TestServerSession()
    let earlyActions = early.session.handleEnd()
    #expect(try early.perform(earlyActions) == ["close: ended"])
    var connect = TestServerSession.connect
    connect.object = .object(["app": "live", "capsEx": 1])
    var player = try TestServerSession([connect, TestServerSession.play])
    _ = try player.accept()
    let actions = player.session.handleEnd()
    #expect(
      try player.perform(actions) == [
        "streamEnd(1)", "1: onStatus 0.0 NetStream.Play.Stop",
        "0: onStatus 0.0 NetConnection.Connect.ReconnectRequest", "stop", "close: ended",
      ])
    #expect(player.session.handleEnd().isEmpty)
  }

  @Test(arguments: [AMFValue.number(0), .number(2), .number(1.5), .string("1"), .null])
  func `a client without the bit of reconnection is not asked to connect again`(capabilities: AMFValue) throws {
    var connect = TestServerSession.connect
    connect.object = .object(["app": "live", "capsEx": capabilities])
    var server = try TestServerSession([connect])
    let actions = server.session.handleEnd()
    #expect(try server.perform(actions) == ["close: ended"])
  }

  @Test func `getStreamLength of a live stream is 0, and responses of the client are ignored`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    let length = RTMPCommand("getStreamLength", transactionID: 4, arguments: ["hello"]).message()
    #expect(try server.receive([length]) == ["0: _result 4.0 number(0.0)"])
    for name in ["_result", "_error", "onStatus", "receiveAudio", "receiveVideo"] {
      #expect(try server.receive([RTMPCommand(name, transactionID: 5).message()]) == [], "\(name)")
    }
  }

  @Test func `an unknown command is named in its error by at most 64 characters`() throws {
    var server = try TestServerSession([TestServerSession.connect])
    let command = RTMPCommand(String(repeating: "x", count: 100), transactionID: 6).message()
    let actions = server.session.receive(server.peer.chunks([command]), now: .zero)
    guard case .send(let output)? = actions.first else { throw ParsingError(.missing, field: "_error") }
    let text = String(decoding: output.readableBytesView, as: UTF8.self)
    #expect(text.contains(String(repeating: "x", count: 64) + " is not supported"))
    #expect(!text.contains(String(repeating: "x", count: 65)))
  }

  @Test func `a client's window is acknowledged, and none with a window of 0`() throws {
    for (window, expected) in [(UInt32(100), 1), (0, 0)] {
      var server = try TestServerSession([TestServerSession.connect])
      var texts = try server.receive([RTMPControlMessage.windowAcknowledgementSize(window).message])
      for _ in 0..<4 { texts += try server.receive([RTMPControlMessage.streamBegin(1).message]) }
      for _ in 0..<3 {
        texts += try server.receive([RTMPMessage(type: .audio, streamID: 1, payload: bytes("00"))])
      }
      #expect(texts.count { $0.hasPrefix("acknowledgement(") } == expected, "\(texts)")
    }
  }
}
