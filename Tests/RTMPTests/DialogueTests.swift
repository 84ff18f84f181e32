import Media
import NIOCore
import Testing

import struct TestSupport.SplitMix

@testable import RTMP

@Suite("Client and server")
struct DialogueTests {
  @Test(arguments: [1, 2, 3, 7, 64, 1537, 100_000])
  func `a publisher's messages arrive in pieces of any size`(size: Int) throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .publish, maximumPiece: size, seed: UInt64(size))
    dialogue.run()
    #expect(dialogue.isStreaming)
    let messages = TestStream.messages()
    dialogue.publish(messages)
    #expect(dialogue.published == messages)
    #expect(dialogue.heldByteCount == 0)
    dialogue.finishClient()
    #expect(
      dialogue.events == [
        #"server decides on publish of ["live/hello", "hello"]"#, "client starts",
        "client closes at streaming:  the stream has ended", "server has no publisher",
      ])
  }

  @Test(arguments: [1, 2, 3, 7, 64, 1537, 100_000])
  func `a player gets messages in pieces of any size`(size: Int) throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .play, maximumPiece: size, seed: UInt64(size))
    dialogue.run()
    let messages = TestStream.messages()
    dialogue.play(messages)
    #expect(dialogue.played == messages)
    dialogue.finishClient()
    #expect(
      dialogue.events == [
        #"server decides on play of ["live/hello", "hello"]"#, "server plays", "client starts",
        "client closes at streaming:  the stream has ended", "server stops",
      ])
  }

  @Test(arguments: [
    (RTMPRefusal.notFound, "NetStream.Play.StreamNotFound there is no stream of this name"),
    (
      .unauthorized,
      "NetStream.Play.Failed a token or password with the needed role is missing: append ?token=TOKEN or ?user=NAME&pass=PASSWORD"
    ),
    (.throttled, "NetStream.Play.Failed too many failed logins: try again later"),
  ])
  func `a refused player is given the reason`(refusal: RTMPRefusal, text: String) throws {
    let dialogue = try Dialogue("rtmp://h/hello", .play)
    dialogue.refusal = refusal
    dialogue.run()
    #expect(
      dialogue.events == [
        #"server decides on play of ["hello"]"#, "server closes: refused(\(refusalText(refusal)))",
        "client closes at request: \(text)",
      ])
  }

  private func refusalText(_ refusal: RTMPRefusal) -> String { "RTMP.RTMPRefusal.\(refusal)" }

  @Test func `a publisher whose codec is not supported is refused with a sentence, without its key`() throws {
    let dialogue = try Dialogue("rtmp://h/hello/s3cret?x=1", .publish)
    dialogue.run()
    dialogue.refuse(.unsupported("video codec HEVC is not supported, s3cret: publish H.264 and AAC"))
    let sentence = "video codec HEVC is not supported, <redacted>: publish H.264 and AAC"
    #expect(dialogue.events.last == "client closes at streaming: NetStream.Publish.Rejected \(sentence)")
  }

  @Test func `a connection that asks for nothing is closed after 10 s, whatever it sends`() throws {
    var server = RTMPServerSession(now: .zero, makeRandom: { 1 })
    var client = RTMPHandshake(role: .client) { 1 }
    var output = ByteBuffer()
    func perform(_ actions: [RTMPServerAction]) {
      for case .send(let bytes) in actions { output.writeImmutableBuffer(bytes) }
    }
    perform(server.receive(client.opening, now: .zero))
    guard case .complete(let echo?) = try client.receive(&output) else { throw ParsingError(.missing, field: "S2") }
    perform(server.receive(echo, now: .zero))
    var writer = RTMPChunkWriter()
    for second in 1...9 {
      var ping = ByteBuffer()
      writer.write(RTMPControlMessage.pingRequest(UInt32(second)).message, into: &ping)
      perform(server.receive(ping, now: .zero + .seconds(Int64(second))))
      #expect(server.handleTimer(now: .zero + .seconds(Int64(second))).isEmpty)
    }
    #expect(server.handleTimer(now: .zero + .seconds(10)) == [.close(.timeout)])
    #expect(server.nextDeadline == nil)
  }

  @Test func `a handshake at one byte a second is closed after 10 s`() {
    var server = RTMPServerSession(now: .zero, makeRandom: { 1 })
    for second in 0..<10 {
      #expect(server.receive(ByteBuffer(bytes: [3]), now: .zero + .seconds(Int64(second))).isEmpty)
    }
    #expect(server.handleTimer(now: .zero + .seconds(10)) == [.close(.timeout)])
  }

  @Test func `a publisher without a message for 330 s is closed, and a ping is one`() throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .publish)
    dialogue.run()
    dialogue.wait(.seconds(329))
    dialogue.publish(Array(TestStream.messages().prefix(1)))
    dialogue.wait(.seconds(329))
    #expect(dialogue.isStreaming)
    dialogue.sendToServer([RTMPControlMessage.pingRequest(7).message])
    dialogue.wait(.seconds(329))
    #expect(dialogue.isStreaming)
    dialogue.wait(.seconds(1))
    #expect(dialogue.events.suffix(2) == ["server has no publisher", "server closes: timeout"])
  }

  @Test func `a publisher that sends a byte a second is closed after 330 s`() throws {
    var session = try Self.publishing()
    var chunks = ByteBuffer()
    var writer = RTMPChunkWriter()
    writer.write(
      RTMPMessage(type: .video, streamID: 1, payload: ByteBuffer(repeating: 0x27, count: 1000)), into: &chunks)
    for second in Int64(1)...329 {
      let byte = chunks.readSlice(length: 1) ?? ByteBuffer()
      #expect(session.receive(byte, now: .zero + .seconds(second)).isEmpty)
      #expect(session.handleTimer(now: .zero + .seconds(second)).isEmpty)
    }
    #expect(session.handleTimer(now: .zero + .seconds(330)) == [.stopPublishing, .close(.timeout)])
  }

  @Test(arguments: ScriptedServer.Step.allCases)
  func `a server that is silent at a step fails it after 10 s, and one that takes minutes before does not`(
    step: ScriptedServer.Step
  ) throws {
    var server = ScriptedServer(try RTMPURL(parsing: "rtmp://h/a/k"))
    // Each answer comes just in time.
    try server.answer(until: step, delay: .milliseconds(9999))
    #expect(server.client.nextDeadline == server.now + .seconds(10))
    #expect(server.client.handleTimer(now: server.now + .milliseconds(9999)).isEmpty)
    guard case .close(let failure)? = server.client.handleTimer(now: server.now + .seconds(10)).last else {
      throw ParsingError(.missing, field: "close")
    }
    #expect(failure.step == step.failure && failure.description == "the server does not respond" && failure.isRetryable)
    // An answer that comes too late has no effect.
    let late = server.answer(at: step)
    #expect(server.receive(late).isEmpty)
  }

  @Test(arguments: ScriptedServer.Step.allCases)
  func `garbage at a step is refused, or ends with the step's time`(step: ScriptedServer.Step) throws {
    for seed in UInt64(1)...50 {
      var server = ScriptedServer(try RTMPURL(parsing: "rtmp://h/a/k"))
      try server.answer(until: step)
      var random = SplitMix(seed: seed)
      let garbage = ByteBuffer(bytes: (0..<5000).map { _ in UInt8(truncatingIfNeeded: random.next()) })
      var actions = server.receive(garbage)
      actions += server.client.handleTimer(now: server.now + .seconds(10))
      guard case .close(let failure)? = actions.last else { throw ParsingError(.missing, field: "close") }
      #expect(failure.isRetryable && !actions.contains(.started))
      #expect(server.client.heldByteCount == 0)
    }
  }

  @Test(arguments: ScriptedServer.Step.allCases)
  func `an answer that is cut within a chunk is waited for, and taken when its rest comes`(step: ScriptedServer.Step)
    throws
  {
    var server = ScriptedServer(try RTMPURL(parsing: "rtmp://h/a/k"))
    try server.answer(until: step)
    var answer = server.answer(at: step)
    let rest = answer.getSlice(at: answer.readerIndex + 20, length: answer.readableBytes - 20)
    answer = answer.readSlice(length: 20) ?? ByteBuffer()
    let none = server.receive(answer)
    #expect(!none.contains { if case .close = $0 { true } else { false } })
    #expect(server.client.nextDeadline == server.now + .seconds(10))
    let actions = server.receive(try #require(rest))
    #expect(!actions.contains { if case .close = $0 { true } else { false } })
    #expect(actions.contains(.started) == (step == .request))
  }

  @Test(arguments: [
    (ScriptedServer.Step.connect, "NetConnection.Connect.Rejected"), (.connect, "NetConnection.Connect.InvalidApp"),
    (.createStream, "NetConnection.Call.Failed"), (.request, "NetStream.Publish.BadName"),
    (.request, "NetStream.Publish.Denied"), (.request, "NetStream.Publish.Failed"), (.streaming, "NetStream.Failed"),
  ])
  func `a refusal at any step has the server's words in one line, and can be tried again`(
    step: ScriptedServer.Step, code: String
  ) throws {
    for isError in [true, false] where isError || [.request, .streaming].contains(step) {
      var server = ScriptedServer(try RTMPURL(parsing: "rtmp://h/a/k3y"))
      try server.answer(until: step)
      let status = RTMPStatus(level: "error", code: code, description: "no\r\n\u{1B}[31m")
      // Errors of a stream that is sent have no transaction.
      let isResponse = isError && step != .streaming
      let command = RTMPCommand(
        isResponse ? "_error" : "onStatus", transactionID: isResponse ? step.transactionID : 0,
        arguments: [status.value])
      let failure = try server.failure(of: command.message(streamID: 1))
      #expect(failure.step == step.failure && failure.code == code && failure.isRetryable)
      #expect(failure.description.hasPrefix("no") && !failure.description.contains { $0.isNewline || $0 == "\u{1B}" })
    }
  }

  @Test func `a redirect is in the failure, whose text does not have it`() throws {
    var server = ScriptedServer(try RTMPURL(parsing: "rtmp://h/a/k3y"))
    try server.answer(until: .connect)
    let information: AMFObject = [
      "level": "error", "code": "NetConnection.Connect.Rejected", "description": "redirect to rtmp://b/live",
      "ex": .object(["code": 302, "redirect": "rtmp://b/live"]),
    ]
    let failure = try server.failure(
      of: RTMPCommand("_error", transactionID: 1, arguments: [.object(information)]).message())
    #expect(failure.redirect == "rtmp://b/live" && failure.step == .connect)
    #expect(failure.description == "the server redirects")
  }

  @Test(arguments: [
    "invalid token 'SECRET-2'", "no stream k3y?token=SECRET-2&name=a%2Fb%2Fc", "k3y is taken", "for a/b/c: denied",
    "a%2Fb%2Fc", "rtmp://h/live?auth=SECRET-2/k3y", "SECRET-2SECRET-2", "key 'k3y' token 'SECRET-2'",
  ])
  func `no part of the key is in a text, however a server repeats it`(text: String) throws {
    for url in ["rtmp://h/live/k3y?token=SECRET-2&name=a%2Fb%2Fc", "rtmp://h/live?token=SECRET-2&name=a%2Fb%2Fc/k3y"] {
      var server = ScriptedServer(try RTMPURL(parsing: url))
      try server.answer(until: .request)
      let status = RTMPStatus(level: "error", code: text, description: text)
      let failure = try server.failure(of: RTMPCommand("onStatus", arguments: [status.value]).message(streamID: 1))
      for part in ["SECRET", "k3y", "a%2Fb", "a/b/c"] {
        #expect(!failure.description.contains(part) && !failure.code.contains(part), "\(failure)")
      }
      #expect(failure.description.contains("<redacted>"))
    }
  }

  @Test func `pausing stops the stream, resuming starts it again`() throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .play)
    dialogue.run()
    for flag in [true, true, false] {
      dialogue.sendToServer([RTMPCommand("pause", arguments: [.boolean(flag), 0]).message(streamID: 1)])
    }
    #expect(dialogue.events.suffix(2) == ["server stops", "server plays"])
    dialogue.wait(.seconds(3600))
    #expect(dialogue.isStreaming, "a player may be silent")
  }

  @Test func `a player that pauses after a minute can resume, and is closed after another minute of pause`() throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .play)
    dialogue.run()
    func pause(_ flag: Bool) {
      dialogue.sendToServer([RTMPCommand("pause", arguments: [.boolean(flag), 0]).message(streamID: 1)])
    }
    dialogue.wait(.seconds(60))
    pause(true)
    dialogue.wait(.seconds(59))
    pause(false)
    #expect(dialogue.events.suffix(2) == ["server stops", "server plays"])
    dialogue.wait(.seconds(60))
    pause(true)
    dialogue.wait(.seconds(59))
    #expect(dialogue.events.last == "server stops")
    dialogue.wait(.seconds(1))
    #expect(dialogue.events.last == "server closes: timeout")
  }

  @Test func `a server that stops asks a client that can to connect again`() throws {
    let dialogue = try Dialogue("rtmp://h/live/hello", .play)
    dialogue.run()
    dialogue.endServer()
    #expect(
      dialogue.events.suffix(3) == [
        "server stops", "server closes: ended",
        "client closes at streaming: NetStream.Play.Stop The stream has ended.",
      ])
    let publisher = try Dialogue("rtmp://h/live/hello", .publish)
    publisher.run()
    publisher.endServer()
    #expect(publisher.events.last == "client is to reconnect to the same server")
  }

  @Test func `acknowledgements are sent each 2.5 MB`() throws {
    var session = try Self.publishing()
    var received = 0
    var acknowledged: [UInt32] = []
    var writer = RTMPChunkWriter()
    var reader = RTMPChunkReader(limits: .media)
    while received < 6_000_000 {
      var buffer = ByteBuffer()
      writer.write(
        RTMPMessage(type: .video, streamID: 1, payload: ByteBuffer(repeating: 0, count: 100_000)), into: &buffer)
      received += buffer.readableBytes
      for case .send(let bytes) in session.receive(buffer, now: .zero) { reader.append(bytes) }
      while let message = try reader.next() {
        if case .acknowledgement(let count)? = try RTMPControlMessage(parsing: message) { acknowledged.append(count) }
      }
    }
    #expect(acknowledged.count == 2)
    #expect(acknowledged.allSatisfy { $0 >= 2_500_000 })
  }

  /// A session that has accepted a publisher, with the default chunk size.
  private static func publishing() throws -> RTMPServerSession {
    var session = RTMPServerSession(now: .zero, makeRandom: { 1 })
    var handshake = RTMPHandshake(role: .client) { 1 }
    var output = ByteBuffer()
    for case .send(let bytes) in session.receive(handshake.opening, now: .zero) { output.writeImmutableBuffer(bytes) }
    guard case .complete(let echo?) = try handshake.receive(&output) else { throw ParsingError(.missing, field: "S2") }
    _ = session.receive(echo, now: .zero)
    var writer = RTMPChunkWriter()
    var commands = ByteBuffer()
    for command in [
      RTMPCommand("connect", transactionID: 1, object: .object(["app": "live"])),
      RTMPCommand("publish", transactionID: 2, arguments: ["hello"]),
    ] {
      writer.write(command.message(), into: &commands)
    }
    let actions = session.receive(commands, now: .zero)
    guard case .decide? = actions.last else { throw ParsingError(.missing, field: "decide") }
    _ = session.accept(now: .zero)
    return session
  }

  @Test func `commands of encoders each get a result, unknown ones an error, and those without transaction nothing`()
    throws
  {
    var session = RTMPServerSession(now: .zero, makeRandom: { 1 })
    var handshake = RTMPHandshake(role: .client) { 1 }
    var output = ByteBuffer()
    for case .send(let bytes) in session.receive(handshake.opening, now: .zero) { output.writeImmutableBuffer(bytes) }
    guard case .complete(let echo?) = try handshake.receive(&output) else { throw ParsingError(.missing, field: "S2") }
    _ = session.receive(echo, now: .zero)
    var (writer, reader) = (RTMPChunkWriter(), RTMPChunkReader(limits: .media))
    func responses(_ command: RTMPCommand) throws -> [String] {
      var buffer = ByteBuffer()
      writer.write(command.message(), into: &buffer)
      for case .send(let bytes) in session.receive(buffer, now: .zero) { reader.append(bytes) }
      var names: [String] = []
      while let message = try reader.next() {
        if let command = try RTMPCommand(parsing: message) { names.append("\(command.name) \(command.transactionID)") }
      }
      return names
    }
    #expect(try responses(RTMPCommand("createStream", transactionID: 9)) == ["_error 9.0"])
    #expect(try responses(RTMPCommand("connect", transactionID: 1)) == ["_result 1.0"])
    #expect(try responses(RTMPCommand("connect", transactionID: 1)) == ["_error 1.0"])
    #expect(try responses(RTMPCommand("releaseStream", transactionID: 2)) == ["_result 2.0"])
    #expect(try responses(RTMPCommand("FCPublish", transactionID: 3)) == ["_result 3.0", "onFCPublish 0.0"])
    #expect(try responses(RTMPCommand("createStream", transactionID: 4)) == ["_result 4.0"])
    #expect(try responses(RTMPCommand("_checkbw", transactionID: 5)) == ["_result 5.0"])
    #expect(try responses(RTMPCommand("seek", transactionID: 6)) == ["_error 6.0"])
    #expect(try responses(RTMPCommand("seek")) == [])
  }

  @Test func `the result of connect states H.264, AAC and ModEx, and nothing else`() {
    let information = RTMPCapabilities.serverInformation
    #expect(information["videoFourCcInfoMap"]?.object?.properties.map(\.name) == ["avc1"])
    #expect(information["audioFourCcInfoMap"]?.object?.properties.map(\.name) == ["mp4a"])
    #expect(information["capsEx"] == 4)
  }

  @Test func `aggregate messages are split, with the times of their parts`() throws {
    let tags = bytes("08 000001 000005 00 000000 AF 0000000C" + "09 000002 000010 00 000000 1701 0000000D")
    let message = RTMPMessage(type: .aggregate, timestamp: 1000, streamID: 1, payload: tags)
    #expect(
      try message.aggregated() == [
        RTMPMessage(type: .audio, timestamp: 1000, streamID: 1, payload: bytes("AF")),
        RTMPMessage(type: .video, timestamp: 1011, streamID: 1, payload: bytes("1701")),
      ])
    for length in [5, 11, 12, 14, 30] {
      var cut = message
      cut.payload = ByteBuffer(bytes: tags.readableBytesView.prefix(length))
      #expect(error { () throws(ParsingError) in _ = try cut.aggregated() }?.code == (length == 12 ? nil : .truncated))
    }
  }

  @Test func `commands with values that are not read, and events that are cut off, do not end a connection`() throws {
    for purpose in [RTMPStreamRequest.Purpose.publish, .play] {
      let dialogue = try Dialogue("rtmp://h/live/hello", purpose)
      dialogue.run()
      var oddities: [RTMPMessage] = ["07 0000", "0D", "11 0D 03 00 00000001", "11 11 03 00 01 01"].map { value in
        var message = RTMPCommand("onOddity", transactionID: 0).message(streamID: 1)
        var rest = bytes(value)
        message.payload.writeBuffer(&rest)
        return message
      }
      for event in ["", "00", "0003 0000", "0006", "001F"] {
        oddities.append(RTMPMessage(type: .userControl, payload: bytes(event)))
      }
      dialogue.sendToServer(oddities)
      dialogue.sendToClient(oddities)
      #expect(dialogue.isStreaming)
    }
  }

  @Test func `random bytes behind the handshake close the connection and never trap`() throws {
    for seed in UInt64(1)...300 {
      var random = SplitMix(seed: seed)
      var session = try Self.publishing()
      for _ in 0..<400 where session.isPublishing {
        let bytes = ByteBuffer(
          bytes: (0..<Int.random(in: 0..<100, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        _ = session.receive(bytes, now: .zero)
        #expect(session.heldByteCount <= 4096, "seed \(seed)")
      }
      #expect(session.isPublishing == false, "seed \(seed)")
    }
  }
}
