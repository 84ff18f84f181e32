internal import Containers
internal import NIOCore

/// Marks files of this program as finished or unfinished: a `free` box after `moov`, which players skip.
enum RecordingMarker: String, CaseIterable {
  /// Marks a file that is being recorded, or was left by a crash.
  case open = "vidicon: this recording is not finished; \"vidicon repair FILE\" does it"
  /// Marks a finished file.
  case finished = "vidicon: recorded"

  /// The serialized `free` box.
  var box: ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeInteger(UInt32(8 + self.rawValue.utf8.count))
    buffer.writeInteger(("free" as FourCharacterCode).rawValue)
    buffer.writeString(self.rawValue)
    return buffer
  }

  /// Maximum length of the content of the box.
  static let maximumLength = 128
}
