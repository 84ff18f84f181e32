internal import Libc
internal import Media

/// Directory listing and creation.
enum Folder {
  /// Names of the entries of a folder, sorted; empty when the folder cannot be read.
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

  /// Creates a folder unless it exists. A new one is on disk when the call returns: otherwise a power loss would take
  /// the files in it along, however often they were synchronized.
  static func make(_ path: String) throws(VidiconError) {
    guard mkdir(path, 0o750) == 0 else {
      if errno == EEXIST { return }
      throw VidiconError(errno: errno, path: path, isNewName: true)
    }
    // A folder that may be written but not read cannot be synchronized.
    try (try? FileDescriptor(self.split(path).folder, O_RDONLY | O_DIRECTORY))?.synchronize()
  }

  /// Joins a folder's path and the name of an entry.
  static func path(_ name: String, in folder: String) -> String {
    folder == "." ? name : folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  /// Splits a path into its folder and its last component.
  static func split(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = path[..<slash]
    return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
  }
}
