internal import Containers
internal import Libc
internal import NIOCore

/// Reads a file of MPEG-TS beside libavformat, and finds the place at which streams get other types.
final class ProgramMapWatch {
  private let descriptor: Int32
  private var scanner: ProgramMapScanner
  /// Place of the next byte.
  private var position: Int64

  private static let chunkLength = 64 << 10

  /// - Parameters:
  ///   - path: Path of a file.
  ///   - position: Place of the first byte that is read.
  /// - Returns: Nil where the path is none of a regular file that can be read.
  init?(path: String, from position: Int64) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    (self.descriptor, self.position) = (descriptor, position)
    self.scanner = ProgramMapScanner(offset: position)
  }

  deinit { close(self.descriptor) }

  /// Place at which the types of streams change; nil where they do not, as far as was read.
  var change: Int64? { self.scanner.change }

  /// Reads on to a place.
  func advance(to end: Int64) {
    while self.scanner.change == nil, self.position < end {
      var bytes = ByteBuffer()
      let length = Int(min(Int64(Self.chunkLength), end - self.position))
      bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { space in
        max(0, pread(self.descriptor, space.baseAddress, length, off_t(self.position)))
      }
      guard bytes.readableBytes > 0 else { return }
      self.position += Int64(bytes.readableBytes)
      self.scanner.append(bytes)
    }
  }
}
