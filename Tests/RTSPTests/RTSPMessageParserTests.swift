import Media
import NIOCore
import RTSP
import Testing

@Suite("RTSP messages, RFC 2326 §4 and §10.12")
struct RTSPMessageParserTests {
  /// A SETUP as ffmpeg 5.1 sends it, a receiver report, a GET_PARAMETER with a body, a response.
  static let conversation: [UInt8] =
    Array(
      """
      SETUP rtsp://127.0.0.1:8554/live/trackID=0 RTSP/1.0\r
      Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r
      CSeq: 3\r
      User-Agent: Lavf59.27.100\r
      \r

      """.utf8) + [0x24, 0x01, 0x00, 0x08, 0x81, 0xc9, 0x00, 0x01, 0x0d, 0x0a, 0x0d, 0x0a]
    + Array(
      "GET_PARAMETER * RTSP/1.0\r\nCSeq: 4\r\nContent-Length: 6\r\n\r\nping\r\nRTSP/1.0 200 OK\r\nCSeq: 9\r\n\r\n".utf8)

  static let messages: [RTSPMessage] = [
    .request(
      RTSPRequest(
        method: .setup, uri: "rtsp://127.0.0.1:8554/live/trackID=0",
        headers: [
          "Transport": "RTP/AVP/TCP;unicast;interleaved=0-1", "CSeq": "3", "User-Agent": "Lavf59.27.100",
        ])),
    .interleaved(channel: 1, payload: ByteBuffer(bytes: [0x81, 0xc9, 0x00, 0x01, 0x0d, 0x0a, 0x0d, 0x0a])),
    .request(
      RTSPRequest(method: .getParameter, uri: "*", headers: ["CSeq": "4"], body: ByteBuffer(string: "ping\r\n"))),
    .response(RTSPResponse(status: .ok, headers: ["CSeq": "9"])),
  ]

  @Test func `requests, packets and responses follow each other without a gap`() {
    #expect(parse(Self.conversation) == Self.messages)
  }

  @Test(arguments: [1, 2, 3, 5, 7, 64])
  func `pieces of any size result in the same messages`(size: Int) {
    #expect(parse(Self.conversation, inPiecesOf: size) == Self.messages)
  }

  @Test func `every prefix returns its complete messages, then needs more bytes`() {
    var counts: Set<Int> = []
    for length in 0..<Self.conversation.count {
      let results = parse(Array(Self.conversation.prefix(length)))
      #expect(results == Array(Self.messages.prefix(results.count)))
      counts.insert(results.count)
    }
    #expect(counts == Set(Self.messages.indices))
  }

  @Test func `a serialized message is parsed to the same message`() throws {
    for case .request(let request) in Self.messages {
      #expect(parse(serialized(request)) == [.request(request)])
    }
    let response = RTSPResponse(
      status: .unauthorized, headers: ["CSeq": "2", "WWW-Authenticate": "Digest", "WWW-Authenticate": "Basic"],
      body: ByteBuffer(string: "no"))
    #expect(
      serialized(response) == """
        RTSP/1.0 401 Unauthorized\r
        CSeq: 2\r
        WWW-Authenticate: Digest\r
        WWW-Authenticate: Basic\r
        Content-Length: 2\r
        \r
        no
        """)
    #expect(parse(serialized(response)) == [.response(response)])
  }

  @Test func `bare line feeds, empty lines, folding and stray space are tolerated`() {
    let request = RTSPRequest(
      method: .options, uri: "rtsp://h/a b", headers: ["CSeq": "1", "Require": "one, two", "Empty": ""])
    #expect(
      parse("\r\n\n\r\nOPTIONS \t rtsp://h/a b  RTSP/1.0 \ncseq :\t1\nRequire:one,\n \t two \r\nEmpty:\n\r\n")
        == [
          .request(
            RTSPRequest(
              method: .options, uri: request.uri, headers: ["cseq": "1", "Require": "one, two", "Empty": ""]))
        ])
  }

  @Test func `packets of 0 and of 65535 bytes are accepted`() {
    let payload = [UInt8](repeating: 7, count: 65_535)
    #expect(
      parse([0x24, 3, 0, 0, 0x24, 255, 0xff, 0xff] + payload, inPiecesOf: 1000) == [
        .interleaved(channel: 3, payload: ByteBuffer()),
        .interleaved(channel: 255, payload: ByteBuffer(bytes: payload)),
      ])
  }

  @Test func `a payload shares the memory of the received buffer`() {
    let received = ByteBuffer(bytes: [0x24, 0, 0, 4, 1, 2, 3, 4])
    var parser = RTSPMessageParser()
    parser.append(received)
    guard case .interleaved(_, let payload) = parser.next() else {
      Issue.record("no packet")
      return
    }
    let start = received.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
    #expect(payload.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } == start + 4)
  }

  @Test(arguments: [
    ("no colon", "CSeq: 1\r\nnonsense\r\n"),
    ("NUL in a value", "CSeq: 1\r\nA: \0\r\n"),
    ("a carriage return in a value", "CSeq: 1\r\nA: b\rc\r\n"),
    ("a space in a name", "CSeq: 1\r\nA b: c\r\n"),
    ("an empty name", "CSeq: 1\r\n: c\r\n"),
    ("folding before any header", " x\r\nCSeq: 1\r\n"),
  ])
  func `a malformed header is refused and the connection continues`(name: String, head: String) {
    let next = RTSPRequest(method: .options, uri: "*", headers: ["CSeq": "2"])
    #expect(
      parse("DESCRIBE rtsp://h/ RTSP/1.0\r\n\(head)Content-Length: 3\r\n\r\n\r\n$" + serialized(next))
        == [malformed(.invalid, "header", cSeq: "1", canContinue: true), .request(next)])
  }

  @Test func `another version is refused with 505 and the connection continues`() {
    let results = parse("OPTIONS * RTSP/2.0\r\nCSeq: 5\r\n\r\nOPTIONS * RTSP/1.0\r\n\r\n")
    #expect(
      results == [
        malformed(.unsupported, "RTSP-Version", cSeq: "5", canContinue: true),
        .request(RTSPRequest(method: .options, uri: "*")),
      ])
    #expect(RTSPStatus(rejecting: ParsingError(.unsupported, field: "RTSP-Version")).code == 505)
  }

  @Test(arguments: [
    ("TLS hello", "\u{16}\u{3}\u{1}", "start line"),
    ("HTTP", "GET / HTTP/1.1\r\n", "start line"),
    ("one word", "OPTIONS\r\n", "start line"),
    ("no URI", "OPTIONS RTSP/1.0\r\n", "start line"),
    ("no version", "OPTIONS rtsp://h/\r\n", "start line"),
    ("NUL in the URI", "OPTIONS rtsp://h/\0 RTSP/1.0\r\n", "start line"),
    ("a status of two digits", "RTSP/1.0 20 OK\r\n", "start line"),
    ("a status of four digits", "RTSP/1.0 2000 OK\r\n", "start line"),
    ("negative length", "PLAY * RTSP/1.0\r\nContent-Length: -1\r\n", "Content-Length"),
    ("signed length", "PLAY * RTSP/1.0\r\nContent-Length: +1\r\n", "Content-Length"),
    ("hexadecimal length", "PLAY * RTSP/1.0\r\nContent-Length: 0x1\r\n", "Content-Length"),
    ("no length", "PLAY * RTSP/1.0\r\nContent-Length:\r\n", "Content-Length"),
    ("a list of lengths", "PLAY * RTSP/1.0\r\nContent-Length: 1, 1\r\n", "Content-Length"),
    ("two lengths", "PLAY * RTSP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "Content-Length"),
    ("folded length", "PLAY * RTSP/1.0\r\nContent-Length: 1\r\n 0\r\n", "Content-Length"),
  ])
  func `an error that hides the end of the message ends the connection`(name: String, text: String, field: String) {
    #expect(RTSPStatus(rejecting: ParsingError(.invalid, field: field)) == .badRequest)
    for size in [1, Int.max] {
      #expect(parse(text + "\r\n\r\nOPTIONS * RTSP/1.0\r\n\r\n", inPiecesOf: size) == [malformed(.invalid, field)])
    }
  }

  @Test(arguments: ["131073", "99999999999999999999"])
  func `a body longer than 128 KiB ends the connection with 413`(length: String) {
    let head = "PLAY * RTSP/1.0\r\nCSeq: 3\r\nContent-Length: \(length)\r\n\r\n"
    #expect(parse(head) == [malformed(.tooLarge, "Content-Length", cSeq: "3")])
    #expect(RTSPStatus(rejecting: ParsingError(.tooLarge, field: "Content-Length")) == .requestEntityTooLarge)
  }

  @Test func `equal Content-Length headers are accepted`() {
    #expect(
      parse("PLAY * RTSP/1.0\r\nContent-Length: 1\r\ncontent-length: 01\r\n\r\nx") == [
        .request(RTSPRequest(method: .play, uri: "*", body: ByteBuffer(string: "x")))
      ])
  }

  @Test(arguments: [1, 97, Int.max])
  func `a message at its limits is accepted and one byte or header more is not`(size: Int) {
    func message(line: Int = 2048, header: Int = 4096, count: Int = 64, body: Int = 131_072) -> String {
      "PLAY rtsp://h/" + String(repeating: "a", count: line - 23) + " RTSP/1.0\r\n"
        + String(repeating: "X:" + String(repeating: "b", count: header - 2) + "\r\n", count: count - 1)
        + "Content-Length: \(body)\r\n\r\n" + String(repeating: "c", count: body)
    }
    guard case .request(let request) = parse(message(), inPiecesOf: size).first else {
      Issue.record("the largest message is refused")
      return
    }
    #expect(request.headers.fields.count == 63)
    #expect(request.body.readableBytes == 131_072)
    // No longer than each limit takes: a debug build reads a megabyte byte by byte in seconds.
    #expect(parse(message(line: 2049, count: 1, body: 0), inPiecesOf: size) == [malformed(.tooLarge, "start line")])
    #expect(parse(message(header: 4097, count: 2, body: 0), inPiecesOf: size) == [malformed(.tooLarge, "header")])
    #expect(parse(message(header: 8, count: 65, body: 0), inPiecesOf: size) == [malformed(.tooLarge, "header count")])
  }

  @Test func `players are limited to less: 8 KiB of header lines and of a packet, 4 KiB of body`() {
    func parse(_ bytes: [UInt8]) -> [RTSPMessage] {
      var parser = RTSPMessageParser(limits: .players)
      parser.append(ByteBuffer(bytes: bytes))
      return drain(&parser)
    }
    func request(headers: Int, body: Int) -> [UInt8] {
      let header = "X: " + String(repeating: "b", count: 1021) + "\r\n"
      let text =
        "OPTIONS * RTSP/1.0\r\n" + String(repeating: header, count: headers) + "Content-Length: \(body)\r\n\r\n"
      return Array((text + String(repeating: "c", count: body)).utf8)
    }
    guard case .request? = parse(request(headers: 7, body: 4096)).first else {
      Issue.record("the largest request is refused")
      return
    }
    #expect(parse(request(headers: 8, body: 0)) == [malformed(.tooLarge, "header")])
    #expect(parse(request(headers: 0, body: 4097)) == [malformed(.tooLarge, "Content-Length")])
    let packet = [UInt8](repeating: 7, count: 8193)
    #expect(parse([0x24, 1, 32, 0] + packet.prefix(8192)).count == 1)
    #expect(parse([0x24, 1, 32, 1] + packet) == [malformed(.tooLarge, "interleaved packet")])
  }

  @Test func `the beginning of a message keeps no more memory than its bytes`() {
    var parser = RTSPMessageParser()
    var received = ByteBufferAllocator().buffer(capacity: 65_536)
    received.writeString("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\nOPT")
    parser.append(received)
    #expect(drain(&parser).count == 1)
    #expect(parser.unparsedByteCount == 3 && parser.bufferCapacity < 1024)
  }

  @Test(arguments: [
    ("OPTIONS ", "a", "start line"),
    ("OPTIONS * RTSP/1.0\r\nA: ", "a", "header"),
    ("OPTIONS * RTSP/1.0\r\nA: b\r\n", " \r\n", "header"),
    ("OPTIONS * RTSP/1.0\r\n", " \r\n", "header"),
    ("OPTIONS * RTSP/1.0\r\n", "x\r\n", "header count"),
  ])
  func `a message without end is refused at its limit`(start: String, rest: String, field: String) {
    let text = start + String(repeating: rest, count: 5000)
    #expect(parse(text, inPiecesOf: 1) == [malformed(.tooLarge, field)])
  }

  @Test func `nothing is buffered after the framing is lost`() {
    var parser = RTSPMessageParser()
    parser.append(ByteBuffer(string: "\u{1}"))
    _ = drain(&parser)
    parser.append(ByteBuffer(repeating: 65, count: 100_000))
    #expect(parser.unparsedByteCount == 0)
    #expect(drain(&parser) == [])
  }

  @Test func `a value cannot start a new line`() {
    var headers: RTSPHeaders = ["A": "b\r\nInjected: 1\r\n\r\n"]
    headers["C\r\nInjected"] = "\0d"
    let request = RTSPRequest(
      method: RTSPMethod(rawValue: "X\r\n"), uri: "a\r\nInjected: 1", headers: headers)
    #expect(
      serialized(request)
        == "X   a  Injected: 1 RTSP/1.0\r\nA: b  Injected: 1\r\nC  Injected: d\r\n\r\n")
    let response = RTSPResponse(status: .ok, reasonPhrase: "fine\r\nInjected: 1")
    #expect(serialized(response) == "RTSP/1.0 200 fine  Injected: 1\r\n\r\n")
  }
}
