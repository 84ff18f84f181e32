import CCapture
import Foundation
import Libc
import NIOCore

/// Files that are in memory only, and end with their last descriptor: memfd_create(2).
enum MemoryFile {
  /// Makes an empty file.
  ///
  /// - Returns: Its descriptor; nil on a system without such files.
  static func make() -> Int32? {
    let descriptor = vidicon_memory_file(0)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Writes the bytes of a file.
  ///
  /// - Returns: false where the system has no memory for them.
  static func write(_ bytes: ByteBuffer, to descriptor: Int32) -> Bool {
    bytes.withUnsafeReadableBytes { source -> Bool in
      var position = 0
      while position < source.count {
        let count = pwrite(
          descriptor, source.baseAddress?.advanced(by: position), source.count - position, off_t(position))
        guard count > 0 else { return false }
        position += count
      }
      return true
    }
  }

  /// Reads a file; nil for one that is empty or too large, and for what is no file.
  static func read(_ descriptor: Int32, maximumLength: Int) -> ByteBuffer? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, (1...maximumLength).contains(Int(status.st_size)) else { return nil }
    let length = Int(status.st_size)
    var bytes = ByteBuffer()
    bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { room -> Int in
      var position = 0
      while position < length {
        let count = pread(descriptor, room.baseAddress?.advanced(by: position), length - position, off_t(position))
        guard count > 0 else { break }
        position += count
      }
      return position
    }
    return bytes.readableBytes == length ? bytes : nil
  }
}
