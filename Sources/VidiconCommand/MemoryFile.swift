import CCapture
import Foundation
import Libc

/// Files that are in memory only, and end with their last descriptor: memfd_create(2).
enum MemoryFile {
  /// Maximum number of bytes that are read.
  private static let maximumLength = 512 << 20

  /// Makes a file.
  ///
  /// - Returns: Its descriptor; nil where the system has no memory, or no such files.
  static func make(_ bytes: [UInt8]) -> Int32? {
    let descriptor = vidicon_memory_file(bytes.count)
    guard descriptor >= 0 else { return nil }
    var position = 0
    while position < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress?.advanced(by: position), bytes.count - position, off_t(position))
      }
      guard count > 0 else {
        close(descriptor)
        return nil
      }
      position += count
    }
    return descriptor
  }

  /// Reads a file; nil for one that is empty or too large, and for what is no file.
  static func read(_ descriptor: Int32) -> [UInt8]? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, (1...Self.maximumLength).contains(Int(status.st_size)) else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var position = 0
    while position < bytes.count {
      let rest = bytes.count - position
      let count = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: position), rest, off_t(position))
      }
      guard count > 0 else { return nil }
      position += count
    }
    return bytes
  }
}
