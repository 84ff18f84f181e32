#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

extension OverlayImage {
  /// A picture out of a file: PNG (of a moving one its first picture) or JPEG.
  ///
  /// - Throws: An ``OverlayImageError`` where the file is missing, cannot be read, is no such picture or too large.
  public init(path: String) throws(OverlayImageError) {
    try self.init(parsing: Self.content(of: path), name: path)
  }

  private static func content(of path: String) throws(OverlayImageError) -> [UInt8] {
    // Without waiting for whoever may write to a pipe of this name.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      let isMissing = errno == ENOENT
      let cause = isMissing ? "the picture is not there" : "cannot be opened: \(String(cString: strerror(errno)))"
      throw OverlayImageError(isMissing ? .notFound : .notReadable, name: path, cause: cause)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw OverlayImageError(.notReadable, name: path, cause: "is no file")
    }
    guard status.st_size <= Self.maximumFileSize else {
      throw OverlayImageError(.tooLarge, name: path, cause: "has more than \(Self.maximumFileSize >> 20) MiB")
    }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let result = bytes.withUnsafeMutableBytes {
        Self.readBytes(descriptor, $0.baseAddress! + count, $0.count - count)
      }
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else {
        throw OverlayImageError(
          .notReadable, name: path, cause: "cannot be read: \(String(cString: strerror(errno)))")
      }
      if result == 0 { break }
      count += result
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// The system's `read`, whose name is taken here.
  private static func readBytes(_ descriptor: Int32, _ target: UnsafeMutableRawPointer, _ count: Int) -> Int {
    #if canImport(Darwin)
    Darwin.read(descriptor, target, count)
    #else
    Glibc.read(descriptor, target, count)
    #endif
  }
}
