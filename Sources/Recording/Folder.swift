internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// What is in folders of the disk.
enum Folder {
  /// The names in a folder, sorted; none when it cannot be read.
  static func names(in path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Makes a folder, unless it is there.
  static func make(_ path: String) throws(VidiconError) {
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw VidiconError(errno: errno, path: path) }
  }

  /// The folder that a path is in, and the name in it.
  static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}
