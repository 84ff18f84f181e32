internal import Containers
internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

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

  /// Reads the marker of a file with a few short reads; nil when the file has none.
  init?(of file: FileDescriptor) {
    guard let length = try? file.status().st_size, length > 0 else { return nil }
    var walker = MP4FileWalker(length: UInt64(length)) { file.read(at: $0, count: $1) }
    let types: [FourCharacterCode] = ["ftyp", "moov", "free"]
    for type in types {
      guard let box = try? walker.next(), box.type == type else { return nil }
      guard type == "free" else { continue }
      let count = Int(clamping: box.content.upperBound - box.content.lowerBound)
      guard count <= 128, let bytes = file.read(at: box.content.lowerBound, count: count),
        let mark = Self(rawValue: String(buffer: bytes))
      else { return nil }
      self = mark
      return
    }
    return nil
  }
}
