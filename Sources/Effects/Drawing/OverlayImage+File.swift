internal import Libc
public import Media

extension OverlayImage {
  /// Reads and decodes a PNG (of an animated one its first frame) or JPEG file. Blocks on the disk.
  ///
  /// - Throws: A ``VidiconError`` whose subject is the path: `.notFound`, `.notPermitted` or `.failed` where the file
  ///   cannot be read, `.invalidData` as ``init(parsing:name:)``.
  public init(path: String) throws(VidiconError) {
    try self.init(parsing: Self.content(of: path), name: path)
  }

  private static func content(of path: String) throws(VidiconError) -> [UInt8] {
    // O_NONBLOCK: the open of a named pipe does not wait for its writer.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.error(path, "cannot be opened") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw VidiconError(.failed, path: path, cause: "is not a file", nextStep: Self.nextStep)
    }
    guard status.st_size <= Self.maximumFileSize else { throw .largeImageFile(path) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      let result = bytes.withUnsafeMutableBytes {
        Self.readBytes(descriptor, $0.baseAddress! + count, $0.count - count)
      }
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else { throw Self.error(path, "cannot be read") }
      if result == 0 { break }
      count += result
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private static let nextStep = "check the path and its permissions"

  /// The error of the preceding system call, from `errno`.
  private static func error(_ path: String, _ cause: String) -> VidiconError {
    switch errno {
    case ENOENT: VidiconError(.notFound, path: path, cause: "the image does not exist", nextStep: self.nextStep)
    case let number:
      VidiconError(
        number == EACCES ? .notPermitted : .failed, path: path,
        cause: "\(cause): \(String(cString: strerror(number)))", nextStep: self.nextStep)
    }
  }

  /// Calls `read(2)`, which a member of this type would shadow.
  private static func readBytes(_ descriptor: Int32, _ target: UnsafeMutableRawPointer, _ count: Int) -> Int {
    #if canImport(Darwin)
    Darwin.read(descriptor, target, count)
    #else
    Glibc.read(descriptor, target, count)
    #endif
  }
}
