import NIOCore
import RTSP

/// Everything that a parser gives for a connection's bytes, one entry a message or error.
enum Parsed: Hashable {
  case message(RTSPMessage)
  case error(RTSPError)
}

/// The messages and errors in `bytes`, fed in pieces of `size`.
func parse(_ bytes: [UInt8], inPiecesOf size: Int = .max) -> [Parsed] {
  var parser = RTSPMessageParser()
  var results: [Parsed] = []
  var rest = bytes[...]
  while !rest.isEmpty {
    parser.append(ByteBuffer(bytes: rest.prefix(size)))
    rest = rest.dropFirst(size)
    results += drain(&parser)
  }
  return results
}

func parse(_ text: String, inPiecesOf size: Int = .max) -> [Parsed] {
  parse(Array(text.utf8), inPiecesOf: size)
}

func drain(_ parser: inout RTSPMessageParser) -> [Parsed] {
  var results: [Parsed] = []
  while true {
    do throws(RTSPError) {
      guard let message = try parser.next() else { return results }
      results.append(.message(message))
    } catch {
      results.append(.error(error))
      if !error.canContinue { return results }
    }
  }
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
