import Authentication
import CaptureDevices
import Foundation
import Media

/// Reads the user file, and reads it again when it changes.
struct UserFileMonitor: Sendable {
  /// Identity and time of a version of the file.
  private struct Version: Hashable {
    var inode: UInt64
    var size: Int64
    var seconds: Int
    var nanoseconds: Int

    init(_ status: stat) {
      self.inode = UInt64(status.st_ino)
      self.size = Int64(status.st_size)
      self.seconds = Int(status.st_mtim.tv_sec)
      self.nanoseconds = Int(status.st_mtim.tv_nsec)
    }
  }

  /// Interval at which the file is checked for changes.
  private static let interval = Duration.seconds(1)

  private let path: String
  private var version: Version?

  /// A monitor of a file that has not been read.
  init(path: String) {
    self.path = path
  }

  /// Reads the file.
  ///
  /// - Throws: A failure that names the file and the line, never the content.
  mutating func read() throws(Failure) -> UserFile {
    let descriptor = open(self.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw Failure("\(self.path): \(String(cString: strerror(errno))); check the path of --user-file")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Failure("\(self.path): it is not a regular file; check the path of --user-file")
    }
    self.version = Version(status)
    guard status.st_mode & 0o077 == 0 else {
      throw Failure("\(self.path): other users of this machine can read it; run chmod 600 on it")
    }
    let data: Data
    do {
      data = try FileHandle(fileDescriptor: descriptor).read(upToCount: UserFile.maximumBytes + 1) ?? Data()
    } catch {
      throw Failure("\(self.path): it cannot be read (\(error.localizedDescription))")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw Failure("\(self.path): it is not UTF-8 text; see docs/access.md")
    }
    do throws(ParsingError) {
      return try UserFile(parsing: text)
    } catch {
      throw Failure("\(self.path): \(error); see docs/access.md for the form of a line")
    }
  }

  /// Reads the file whenever it changes, until the task is cancelled. A file that is missing or wrong changes nothing, and
  /// is reported once.
  mutating func run(_ apply: (UserFile) -> Void) async {
    while (try? await Task.sleep(for: Self.interval)) != nil {
      var status = stat()
      guard stat(self.path, &status) == 0, Version(status) != self.version else { continue }
      do throws(Failure) {
        apply(try self.read())
        Terminal.warn("\(self.path): the users have changed")
      } catch {
        Terminal.warn("\(error.message); the users stay as they were")
      }
    }
  }
}
