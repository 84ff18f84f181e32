#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The program that has a device open, where /proc tells.
struct DeviceHolder: Hashable, CustomStringConvertible {
  /// The number of the process.
  let process: Int32
  /// Its name.
  let name: String

  /// Whether it is this one.
  var isThisProcess: Bool {
    self.process == getpid()
  }

  /// Such as "obs (process 1234)".
  var description: String {
    self.isThisProcess ? "another stream of this program" : "\(self.name) (process \(self.process))"
  }

  /// The first process, other ones before this one, that holds a node open; nil when none can be seen.
  static func find(path: String) -> DeviceHolder? {
    let target = realpath(path) ?? path
    return self.find(atMost: 1) { $0 == target }.first
  }

  /// The processes, other ones before this one, that hold one of some nodes open, as far as they can be seen.
  static func find(atMost count: Int = .max, where isMeant: (_ path: String) -> Bool) -> [DeviceHolder] {
    let processes = names(in: "/proc").compactMap(Int32.init).sorted {
      ($0 == getpid() ? 1 : 0) < ($1 == getpid() ? 1 : 0)
    }
    var holders: [DeviceHolder] = []
    for process in processes where holders.count < count {
      let folder = "/proc/\(process)/fd"
      guard names(in: folder).contains(where: { link("\(folder)/\($0)").map(isMeant) ?? false }) else { continue }
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

/// The names in a folder, but for those of itself and its parent; empty when it cannot be read.
func names(in folder: String) -> [String] {
  guard let directory = opendir(folder) else { return [] }
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    // The structure is as long as the name, not as its declaration says: read where it lies, up to the zero.
    let start = UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
    let name = String(cString: start.assumingMemoryBound(to: CChar.self))
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

/// Where a symbolic link points to, as it is written; nil when it is none.
private func link(_ path: String) -> String? {
  var bytes = [CChar](repeating: 0, count: 4096)
  let count = readlink(path, &bytes, bytes.count)
  return count > 0 ? String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
}

/// The path of what a path leads to, through all links; nil when it leads nowhere.
func realpath(_ path: String) -> String? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved)
}
