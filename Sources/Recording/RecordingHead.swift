internal import Containers
internal import Libc
package import NIOCore

/// Contents of the boxes before the media data of a file of this program: its marker and its recorder.
package struct RecordingHead: Hashable, Sendable {
  /// Whether the file is finished.
  var mark: RecordingMarker
  /// Recorder of the file; nil for files of earlier versions.
  var identity: RecordingIdentity?
  /// Circumstances of the file's creation.
  var creation = RecordingCreation()

  /// Reads the head of a file with a few short reads; nil for files of other programs, and when the disk fails.
  init?(of file: FileDescriptor) {
    guard let length = try? file.status().st_size, length > 0 else { return nil }
    self.init(length: UInt64(length)) { file.read(at: $0, count: $1) }
  }

  /// Reads the head of a file; nil for files of other programs.
  ///
  /// The order of the boxes is `ftyp`, optionally `free` or `mdat`, `moov`, the marker (`free`), `uuid`.
  ///
  /// - Parameters:
  ///   - length: Length of the file in bytes.
  ///   - read: Reads bytes at an offset of the file.
  init?(length: UInt64, read: @escaping MP4FileWalker.Read) {
    var walker = MP4FileWalker(length: length, read: read)
    guard (try? walker.next())?.type == "ftyp", var box = try? walker.next() else { return nil }
    if box.type == "free" || box.type == "mdat" {
      guard let next = try? walker.next() else { return nil }
      box = next
    }
    guard box.type == "moov", let marker = try? walker.next(), marker.type == "free",
      let bytes = Self.content(of: marker.content, atMost: RecordingMarker.maximumLength, read),
      let mark = RecordingMarker(rawValue: String(buffer: bytes))
    else { return nil }
    self.mark = mark
    // The walker counts the usertype as part of the header.
    if let box = try? walker.next(), box.type == "uuid", box.content.lowerBound >= 16,
      let content = Self.content(
        of: box.content.lowerBound - 16..<box.content.upperBound, atMost: RecordingIdentity.maximumContentLength, read)
    {
      self.identity = RecordingIdentity(parsing: content, creation: &self.creation)
    }
  }

  private static func content(
    of range: Range<UInt64>, atMost maximum: Int, _ read: MP4FileWalker.Read
  ) -> ByteBuffer? {
    let count = Int(clamping: range.upperBound - range.lowerBound)
    guard count <= maximum, let bytes = read(range.lowerBound, count), bytes.readableBytes == count else { return nil }
    return bytes
  }

  /// Serializes the head of an open file.
  ///
  /// - Parameter segment: The initialization segment of its fragments.
  package static func open(
    _ segment: ByteBuffer, _ identity: RecordingIdentity, _ creation: RecordingCreation
  ) -> ByteBuffer {
    var head = Self.reserving(in: segment)
    head.writeImmutableBuffer(Self.boxes(.open, identity, creation))
    return head
  }

  /// Room behind `ftyp` for the header of the `mdat` that makes a fragmented file progressive, in bytes.
  static let reserveLength: UInt32 = 16

  /// Inserts the reserve behind `ftyp` of an initialization segment.
  private static func reserving(in segment: ByteBuffer) -> ByteBuffer {
    var segment = segment
    // The segment begins with ftyp, whose first word is its length.
    let length = segment.getInteger(at: segment.readerIndex, as: UInt32.self) ?? 0
    var head = segment.readSlice(length: Int(length)) ?? ByteBuffer()
    head.writeMultipleIntegers(Self.reserveLength, ("free" as FourCharacterCode).rawValue, UInt64(0))
    head.writeImmutableBuffer(segment)
    return head
  }

  /// Serializes the boxes of a finished file after its `moov`; nil identity for files of earlier versions.
  static func boxes(
    _ mark: RecordingMarker, _ identity: RecordingIdentity?, _ creation: RecordingCreation
  ) -> ByteBuffer {
    var boxes = mark.box
    if let identity { boxes.writeImmutableBuffer(identity.box(creation)) }
    return boxes
  }
}

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
