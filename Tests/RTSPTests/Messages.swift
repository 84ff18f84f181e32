import Media
import NIOCore
import RTSP

/// The messages in `bytes`, appended in pieces of `size`.
func parse(_ bytes: [UInt8], inPiecesOf size: Int = .max) -> [RTSPMessage] {
  var parser = RTSPMessageParser()
  var messages: [RTSPMessage] = []
  var rest = bytes[...]
  while !rest.isEmpty {
    parser.append(ByteBuffer(bytes: rest.prefix(size)))
    rest = rest.dropFirst(size)
    messages += drain(&parser)
  }
  return messages
}

func parse(_ text: String, inPiecesOf size: Int = .max) -> [RTSPMessage] {
  parse(Array(text.utf8), inPiecesOf: size)
}

func drain(_ parser: inout RTSPMessageParser) -> [RTSPMessage] {
  var messages: [RTSPMessage] = []
  while let message = parser.next() { messages.append(message) }
  return messages
}

/// A malformed message as the parser returns it.
func malformed(
  _ code: ParsingError.Code, _ field: String, cSeq: String? = nil, canContinue: Bool = false
) -> RTSPMessage {
  .malformed(RTSPMalformedMessage(ParsingError(code, field: field), cSeq: cSeq, canContinue: canContinue))
}

func serialized(_ request: RTSPRequest) -> String {
  var buffer = ByteBuffer()
  request.serialize(into: &buffer)
  return String(buffer: buffer)
}

func serialized(_ response: RTSPResponse) -> String {
  var buffer = ByteBuffer()
  response.serialize(into: &buffer)
  return String(buffer: buffer)
}
