internal import Containers
package import NIOCore

/// The recorder that wrote a file: retention removes files of equal identity only, whatever their names are.
///
/// Stored in a `uuid` box after the marker, which players skip:
///
/// | bytes | field |
/// |-------|-------|
/// | 16    | usertype |
/// | 1     | version: 1 |
/// | 1     | flags: bit 0, the clock was synchronized when the file was created |
/// | 2, n  | length and UTF-8 of the stream's name |
/// | 2, n  | length and UTF-8 of the recorder's id |
/// | 8     | sequence number of the file, see ``RecordingSequence``; not in files of earlier versions |
package struct RecordingIdentity: Hashable, Sendable {
  /// Name of the recorded stream.
  package var stream: String
  /// Id of the recorder, by default its pattern without the fixed folder.
  package var recorder: String

  private static let userType: [UInt8] = [
    0x76, 0x69, 0x64, 0x69, 0x63, 0x6F, 0x6E, 0x2E, 0x72, 0x65, 0x63, 0x6F, 0x72, 0x64, 0x65, 0x72,
  ]
  private static let version: UInt8 = 1
  /// Maximum length of a text; longer texts are truncated.
  private static let maximumTextLength = 4096

  /// The texts are truncated as in a file, so that a recorder recognizes its own.
  package init(stream: String, recorder: String) {
    self.stream = Self.shortened(stream)
    self.recorder = Self.shortened(recorder)
  }

  private static func shortened(_ text: String) -> String {
    text.utf8.count <= self.maximumTextLength
      ? text : String(decoding: text.utf8.prefix(self.maximumTextLength), as: UTF8.self)
  }

  /// Serializes the `uuid` box that marks files of a stream and recorder.
  package func box(_ creation: RecordingCreation) -> ByteBuffer {
    var content = ByteBuffer(bytes: Self.userType)
    content.writeMultipleIntegers(Self.version, UInt8(creation.isClockSynchronized ? 1 : 0))
    for text in [self.stream, self.recorder] {
      // No trap: a replacement character at the cut adds at most 9 bytes.
      content.writeInteger(UInt16(clamping: text.utf8.count))
      content.writeString(text)
    }
    if let sequenceNumber = creation.sequenceNumber { content.writeInteger(sequenceNumber) }
    var box = ByteBuffer()
    box.writeInteger(UInt32(8 + content.readableBytes))
    box.writeInteger(("uuid" as FourCharacterCode).rawValue)
    box.writeImmutableBuffer(content)
    return box
  }

  /// Parses the content of a `uuid` box, its usertype included; nil for other boxes.
  ///
  /// - Parameter creation: Set to the other fields of the box.
  package init?(parsing content: ByteBuffer, creation: inout RecordingCreation) {
    var content = content
    guard content.readBytes(length: Self.userType.count) == Self.userType,
      let (version, flags) = content.readMultipleIntegers(as: (UInt8, UInt8).self), version == Self.version,
      let stream = Self.text(&content), let recorder = Self.text(&content)
    else { return nil }
    self.stream = stream
    self.recorder = recorder
    creation.isClockSynchronized = flags & 1 != 0
    creation.sequenceNumber = content.readInteger()
  }

  private static func text(_ content: inout ByteBuffer) -> String? {
    content.readInteger(as: UInt16.self).flatMap { content.readString(length: Int($0)) }
  }

  /// Maximum length of the content of the box.
  static let maximumContentLength = 16 + 2 + 2 * (2 + 4096 + 16) + 8
}

/// Circumstances of the creation of a recorded file.
package struct RecordingCreation: Hashable, Sendable {
  /// Whether the clock was synchronized.
  package var isClockSynchronized: Bool
  /// Place of the file among those of its recorder, see ``RecordingSequence``; nil for files of earlier versions.
  package var sequenceNumber: UInt64?

  package init(isClockSynchronized: Bool = false, sequenceNumber: UInt64? = nil) {
    (self.isClockSynchronized, self.sequenceNumber) = (isClockSynchronized, sequenceNumber)
  }
}
