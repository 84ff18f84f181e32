package import Media
internal import NIOCore

/// A command, or the response to one, RTMP 1.0 §7.2.
package struct RTMPCommand: Hashable, Sendable {
  /// The name: `connect`, `play`, `_result`, `onStatus` and others.
  package var name: String
  /// Number by which the response names its command; 0 for commands without a response.
  package var transactionID: Double
  /// The command object: properties in `connect`, else null; nil when it is absent.
  package var object: AMFValue?
  /// The arguments behind the command object.
  package var arguments: [AMFValue]

  /// Creates a command; without a transaction ID the peer sends no response.
  package init(
    _ name: String, transactionID: Double = 0, object: AMFValue? = .null, arguments: [AMFValue] = []
  ) {
    self.name = name
    self.transactionID = transactionID
    self.object = object
    self.arguments = arguments
  }

  /// Parses the payload of a command message; in one of AMF 3 the values of AMF 0 follow a byte 0.
  ///
  /// A transaction ID that is absent or no number is 0: encoders leave it out. So are arguments from a value on that is not read,
  /// see ``AMF0Reader``.
  ///
  /// - Returns: nil for a message of another type.
  /// - Throws: `.missing` without a name, and the errors of ``AMF0Reader/next()``.
  package init?(parsing message: RTMPMessage, limits: AMFLimits = AMFLimits()) throws(ParsingError) {
    guard message.type == .commandAMF0 || message.type == .commandAMF3 else { return nil }
    var values = try Self.values(parsing: message, isAMF3: message.type == .commandAMF3, limits: limits)[...]
    guard case .string(let name)? = values.popFirst() else { throw ParsingError(.missing, field: "command name") }
    self.name = name
    self.transactionID = values.popFirst()?.number ?? 0
    self.object = values.popFirst()
    self.arguments = Array(values)
  }

  /// Parses the values of a data message, such as `onMetaData`, RTMP 1.0 §7.1.2.
  ///
  /// - Returns: nil for a message of another type.
  /// - Throws: The errors of ``AMF0Reader/next()``.
  package static func data(
    parsing message: RTMPMessage, limits: AMFLimits = AMFLimits()
  ) throws(ParsingError) -> [AMFValue]? {
    guard message.type == .dataAMF0 || message.type == .dataAMF3 else { return nil }
    return try self.values(parsing: message, isAMF3: message.type == .dataAMF3, limits: limits)
  }

  private static func values(
    parsing message: RTMPMessage, isAMF3: Bool, limits: AMFLimits
  ) throws(ParsingError) -> [AMFValue] {
    var payload = message.payload
    if isAMF3, payload.getInteger(at: payload.readerIndex, as: UInt8.self) == 0 {
      payload.moveReaderIndex(forwardBy: 1)
    }
    return try AMF0Reader.values(parsing: payload, limits: limits)
  }

  /// The message of the command in AMF 0.
  package func message(streamID: UInt32 = 0) -> RTMPMessage {
    var payload = ByteBuffer()
    AMFValue.string(self.name).serialize(into: &payload)
    AMFValue.number(self.transactionID).serialize(into: &payload)
    self.object?.serialize(into: &payload)
    for argument in self.arguments { argument.serialize(into: &payload) }
    return RTMPMessage(type: .commandAMF0, streamID: streamID, payload: payload)
  }
}

/// The information object of `onStatus`, RTMP 1.0 §7.2.2 and §7.4.
package struct RTMPStatus: Hashable, Sendable {
  /// Severity: `status`, `warning` or `error`.
  package var level: String
  /// Code of the event, such as `NetStream.Play.Start`.
  package var code: String
  /// Sentence that clients may show to their users.
  package var description: String

  /// Creates a status; its level is `status`.
  package init(level: String = "status", code: String, description: String) {
    self.level = level
    self.code = code
    self.description = description
  }

  /// The status in a command's object or first argument; nil when there is none.
  package init?(of command: RTMPCommand) {
    let information = command.arguments.first?.object ?? command.object?.object
    guard let information, let code = information["code"]?.string else { return nil }
    self.code = code
    self.level = information["level"]?.string ?? "status"
    self.description = information["description"]?.string ?? ""
  }

  /// The information object: an object with `level`, `code` and `description`.
  package var value: AMFValue {
    .object([
      "level": .string(self.level), "code": .string(self.code), "description": .string(self.description),
    ])
  }
}
