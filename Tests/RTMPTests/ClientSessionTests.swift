import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("Session of a client, RTMP 1.0 §7.2")
struct ClientSessionTests {
  private typealias Client = TestClientSession

  @Test func `a publisher announces its key to old servers, and sends nothing before Publish.Start`() throws {
    var client = try Client(.publish)
    #expect(client.greeting == ["setChunkSize(32767)", "0: connect 1.0 "])
    #expect(
      try client.receive([Client.result(1)]) == [
        #"0: releaseStream 2.0 string("k3y")"#, #"0: FCPublish 3.0 string("k3y")"#, "0: createStream 4.0 ",
      ])
    #expect(
      try client.receive([Client.result(4, 7)]) == [#"7: publish 5.0 string("k3y") string("live")"#])
    #expect(client.session.streamID == 7 && !client.session.isStreaming)
    var early = ByteBuffer()
    client.session.write(RTMPMessage(type: .audio, payload: bytes("AF")), into: &early)
    #expect(early.readableBytes == 0)
    #expect(try client.receive([Client.status("NetStream.Publish.Start")]) == ["started"])
    client.session.write(RTMPMessage(type: .audio, timestamp: 3, payload: bytes("AF")), into: &early)
    // Chunk stream 4 on message stream 7, which is little-endian.
    #expect(early == bytes("04 000003 000001 08 07000000 AF"))
  }

  @Test func `connect states the capabilities of Enhanced RTMP v2 behind what old servers read`() throws {
    // FourCC flags: decode 1 and forward 4. capsEx: reconnect 1 and ModEx 4.
    let enhanced: AMFObject = [
      "objectEncoding": 0, "fourCcList": .array(["avc1", "mp4a"]), "videoFourCcInfoMap": .object(["avc1": 5]),
      "audioFourCcInfoMap": .object(["mp4a": 5]), "capsEx": 5,
    ]
    // Bits of RTMP 1.0 §7.2.1.1: AAC 0x0400, H.264 0x0080, seeking 1.
    let media: AMFObject = ["fpad": false, "audioCodecs": 0x0400, "videoCodecs": 0x0080, "videoFunction": 1]
    for (purpose, version, codecs) in [
      (RTMPStreamRequest.Purpose.publish, "FMLE/3.0 (compatible; Vidicon)", AMFObject()),
      (.play, "LNX 9,0,124,2", media),
    ] {
      let client = try Client(purpose)
      let connect = try #require(client.peer.commands.first)
      let common: AMFObject = [
        "app": "live", "type": "nonprivate", "flashVer": .string(version), "tcUrl": "rtmp://h/live",
      ]
      #expect(connect.name == "connect" && connect.transactionID == 1 && connect.arguments.isEmpty)
      #expect(connect.object == .object(AMFObject(common.properties + codecs.properties + enhanced.properties)))
    }
  }

  @Test func `a player asks for the live stream only, and for a buffer of one second`() throws {
    var client = try Client(.play)
    #expect(try client.receive([Client.result(1)]) == ["0: createStream 4.0 "])
    #expect(
      try client.receive([Client.result(4, 7)]) == [
        #"7: play 5.0 string("k3y") number(-2.0)"#, "setBufferLength(streamID: 7, milliseconds: 1000)",
      ])
    let audio = RTMPMessage(type: .audio, timestamp: 1, streamID: 7, payload: bytes("AF"))
    #expect(try client.receive([audio]) == [], "not before the start")
    #expect(try client.receive([Client.status("NetStream.Publish.Start")]) == [], "not its purpose")
    #expect(try client.receive([Client.status("NetStream.Play.Start"), audio]) == ["started", "media 8 at 1"])
  }

  @Test func `an error of each step ends it with what the server says`() throws {
    let error = { (transaction: Double) in Client.error(transaction, "Code", "no k3y here") }
    var connecting = try Client(.publish)
    #expect(
      try connecting.receive([error(1)]) == ["close at connect: Code no <redacted> here, retry true"])
    var creating = try Client(.publish)
    _ = try creating.receive([Client.result(1)])
    #expect(
      try creating.receive([error(2), error(3), error(1)]) == [], "those of releaseStream and FCPublish are usual")
    #expect(try creating.receive([error(4)]) == ["close at createStream: Code no <redacted> here, retry true"])
    var requesting = try Client(.publish)
    _ = try requesting.receive([Client.result(1), Client.result(4, 7)])
    #expect(try requesting.receive([error(4)]) == [])
    #expect(try requesting.receive([error(5)]) == ["close at request: Code no <redacted> here, retry true"])
  }

  @Test func `an error without a status has a sentence of its own`() throws {
    var client = try Client(.play)
    let message = RTMPCommand("_error", transactionID: 1, arguments: [.null]).message()
    #expect(try client.receive([message]) == ["close at connect:  the server refuses, retry true"])
  }

  @Test(arguments: [AMFValue.null, "7", -1, 0.5, 4_294_967_296])
  func `a message stream that is no number of 32 bits is refused`(value: AMFValue) throws {
    var client = try Client(.play)
    _ = try client.receive([Client.result(1)])
    #expect(
      try client.receive([Client.result(4, value)])
        == ["close at createStream:  createStream has no result, retry true"])
  }

  @Test func `results in the wrong order are ignored`() throws {
    var client = try Client(.play)
    #expect(try client.receive([Client.result(4, 7), Client.result(5)]) == [])
    #expect(try client.receive([Client.result(1)]) == ["0: createStream 4.0 "])
    #expect(try client.receive([Client.result(1)]) == [])
  }

  @Test(arguments: [
    "NetStream.Play.Stop", "NetStream.Play.UnpublishNotify", "NetStream.Unpublish.Success",
    "NetConnection.Connect.Closed",
  ])
  func `a status that ends the stream ends the connection, and can be tried again`(code: String) throws {
    var client = try Self.playing()
    #expect(try client.receive([Client.status(code)]) == ["close at streaming: \(code) so, retry true"])
    #expect(try client.receive([Client.status(code)]) == [] && !client.session.isStreaming)
  }

  @Test func `a warning, and a status without a use, end nothing`() throws {
    var client = try Self.playing()
    let messages = [
      Client.status("NetStream.Play.InsufficientBW", level: "warning"), Client.status("NetStream.Data.Start"),
      RTMPCommand("onStatus").message(), RTMPCommand("onBWDone").message(),
    ]
    #expect(try client.receive(messages) == [] && client.session.isStreaming)
  }

  @Test func `close ends the connection`() throws {
    var client = try Self.playing()
    #expect(
      try client.receive([RTMPCommand("close").message()])
        == ["close at streaming:  the server has closed the connection, retry true"])
  }

  @Test func `a server may send the client elsewhere`() throws {
    var client = try Self.playing()
    var information: AMFObject = ["code": "NetConnection.Connect.ReconnectRequest", "level": "status"]
    let here = RTMPCommand("onStatus", arguments: [.object(information)]).message()
    information.properties.append(.init(name: "tcUrl", value: "rtmp://other/live"))
    let there = RTMPCommand("onStatus", arguments: [.object(information)]).message()
    #expect(try client.receive([here, there]) == ["reconnect to the same server", "reconnect to rtmp://other/live"])
    #expect(client.session.isStreaming == true, "until the new connection")
  }

  @Test func `pings, bandwidth and windows are answered`() throws {
    var client = try Client(.play)
    #expect(
      try client.receive([
        RTMPControlMessage.pingRequest(77).message, RTMPControlMessage.setPeerBandwidth(1000, limitType: 0).message,
        RTMPControlMessage.streamBegin(0).message,
      ]) == ["pingResponse(77)", "windowAcknowledgementSize(1000)"])
    var texts = try client.receive([RTMPControlMessage.windowAcknowledgementSize(60).message])
    for _ in 0..<3 { texts += try client.receive([RTMPControlMessage.streamBegin(0).message]) }
    #expect(texts.contains { $0.hasPrefix("acknowledgement(") })
  }

  @Test func `bytes that are no chunks end the connection at the step that waited`() throws {
    var client = try Client(.play)
    let actions = client.session.receive(bytes("84 000005 A0"), now: .zero)
    let texts = try client.perform(actions)
    #expect(texts.count == 1 && texts[0].hasPrefix("close at connect:  malformed response:"), "\(texts)")
    #expect(client.session.heldByteCount == 0 && client.session.nextDeadline == nil)
  }

  @Test func `each step has its own 10 s`() throws {
    let steps: [(results: [RTMPMessage], name: String)] = [
      ([], "connect"), ([Client.result(1)], "createStream"), ([Client.result(1), Client.result(4, 7)], "request"),
    ]
    for (results, step) in steps {
      var client = try Client(.play)
      _ = try client.receive(results, now: .zero + .seconds(6))
      let deadline = results.isEmpty ? MediaTime.zero + .seconds(10) : .zero + .seconds(16)
      #expect(client.session.nextDeadline == deadline)
      #expect(client.session.handleTimer(now: deadline - MediaDuration.milliseconds(1)).isEmpty)
      let actions = client.session.handleTimer(now: deadline)
      #expect(try client.perform(actions) == ["close at \(step):  the server does not respond, retry true"])
    }
  }

  @Test func `a client that finishes deletes its stream, and a publisher releases its name before`() throws {
    var player = try Self.playing()
    let actions = player.session.finish()
    #expect(
      try player.perform(actions) == [
        "0: deleteStream 0.0 number(7.0)", "close at streaming:  the stream has ended, retry false",
      ])
    #expect(player.session.finish().isEmpty)
    var publisher = try Client(.publish)
    _ = try publisher.receive([Client.result(1), Client.result(4, 7), Client.status("NetStream.Publish.Start")])
    let goodbye = publisher.session.finish()
    #expect(
      try publisher.perform(goodbye) == [
        #"0: FCUnpublish 0.0 string("k3y")"#, "0: deleteStream 0.0 number(7.0)",
        "close at streaming:  the stream has ended, retry false",
      ])
    var early = try Client(.publish)
    let nothing = early.session.finish()
    #expect(try early.perform(nothing) == ["close at connect:  the stream has ended, retry false"])
  }

  @Test func `a connection that ends without a word fails the step that waited`() throws {
    let steps: [(results: [RTMPMessage], name: String)] = [
      ([], "connect"), ([Client.result(1)], "createStream"), ([Client.result(1), Client.result(4, 7)], "request"),
      ([Client.result(1), Client.result(4, 7), Client.status("NetStream.Publish.Start")], "streaming"),
    ]
    for (results, step) in steps {
      var client = try Client(.publish)
      _ = try client.receive(results)
      let actions = client.session.handleDisconnected()
      #expect(
        try client.perform(actions) == ["close at \(step):  the server has closed the connection, retry true"])
      #expect(client.session.handleDisconnected().isEmpty && client.session.nextDeadline == nil)
    }
  }

  private static func playing() throws -> TestClientSession {
    var client = try Client(.play)
    _ = try client.receive([Client.result(1), Client.result(4, 7), Client.status("NetStream.Play.Start")])
    #expect(client.session.isStreaming == true)
    return client
  }
}
