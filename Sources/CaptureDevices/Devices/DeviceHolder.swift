internal import Libc

/// A process that has a device or socket open, from /proc.
package struct DeviceHolder: Hashable, CustomStringConvertible {
  /// Process ID.
  package let process: Int32
  /// Name of the program, at most 15 bytes.
  package let name: String

  /// Whether it is the current process.
  var isThisProcess: Bool {
    self.process == getpid()
  }

  /// For messages, such as "obs (process 1234)".
  package var description: String {
    self.isThisProcess ? "another stream of this program" : "\(self.name) (process \(self.process))"
  }

  /// The first process that has a device node open, other processes before the current one; nil when none is visible.
  static func find(path: String) -> DeviceHolder? {
    let target = realpath(path) ?? path
    return self.find(maximumCount: 1) { $0 == target }.first
  }

  /// The first other process that has a device node open, without those that list devices and hold them idle; nil when none is visible.
  package static func findOther(path: String) -> DeviceHolder? {
    let target = realpath(path) ?? path
    return self.find { $0 == target }.first { !$0.isThisProcess && !self.listers.contains($0.name) }
  }

  /// Names of programs that keep each device of a session open.
  private static let listers: Set<String> = ["pipewire", "wireplumber", "pipewire-media-"]

  /// The first other process of a name and user, which every user sees; nil when none is visible.
  ///
  /// - Parameter user: ID of its user; nil for any.
  package static func findOther(name: String, user: UInt32? = nil) -> DeviceHolder? {
    for process in names(in: "/proc").compactMap(Int32.init) {
      var status = stat()
      guard process != getpid(), self.name(of: process) == name, stat("/proc/\(process)", &status) == 0,
        user == nil || user == status.st_uid
      else { continue }
      return DeviceHolder(process: process, name: name)
    }
    return nil
  }

  /// The first process that has a socket open, by the inode that /proc/net names; nil when none is visible: those of other users are
  /// visible to root only.
  package static func find(socketInode inode: UInt64) -> DeviceHolder? {
    self.find(maximumCount: 1) { $0 == "socket:[\(inode)]" }.first
  }

  /// The visible processes that have a matching device node open, other processes before the current one.
  static func find(maximumCount count: Int = .max, where matches: (_ path: String) -> Bool) -> [DeviceHolder] {
    let processes = names(in: "/proc").compactMap(Int32.init).sorted {
      ($0 == getpid() ? 1 : 0) < ($1 == getpid() ? 1 : 0)
    }
    var holders: [DeviceHolder] = []
    for process in processes where holders.count < count {
      let folder = "/proc/\(process)/fd"
      guard names(in: folder).contains(where: { link("\(folder)/\($0)").map(matches) ?? false }) else { continue }
      holders.append(DeviceHolder(process: process, name: self.name(of: process) ?? "a program"))
    }
    return holders
  }

  private static func name(of process: Int32) -> String? {
    guard let file = fopen("/proc/\(process)/comm", "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = fread(&bytes, 1, bytes.count, file)
    let name = bytes[..<count].prefix { $0 >= 0x20 }
    return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
  }
}

/// The names in a directory except `.` and `..`; empty when it cannot be read.
func names(in folder: String) -> [String] {
  guard let directory = opendir(folder) else { return [] }
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    // The structure ends with the name, before its declared size; so the name is read in place, up to the zero.
    let start = UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
    let name = String(cString: start.assumingMemoryBound(to: CChar.self))
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// The target of a symbolic link, unresolved; nil when the path is not a link.
private func link(_ path: String) -> String? {
  var bytes = [CChar](repeating: 0, count: 4096)
  let count = readlink(path, &bytes, bytes.count)
  return count > 0 ? String(decoding: bytes[..<count].map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self) : nil
}

/// The path with all symbolic links resolved; nil when it does not exist.
func realpath(_ path: String) -> String? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved)
}
