import Serving

/// Names of the descriptors that the program leaves with its service manager, `FDNAME` of sd_notify(3).
enum KeptDescriptor: Hashable {
  /// The socket of a server, whose configuration has named a port; 0 for any free one.
  case socket(ListeningSockets.Role, wantedPort: Int)
  /// A memory file with the segments that players of HLS go on with.
  case segments

  private static let prefix = "vidicon"

  /// A name; nil for one that is not of this program.
  init?(name: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.first == Substring(Self.prefix) else { return nil }
    if parts.count == 2, parts[1] == "hls" {
      self = .segments
      return
    }
    guard parts.count == 3, let role = ListeningSockets.Role(rawValue: String(parts[1])), let port = UInt16(parts[2])
    else { return nil }
    self = .socket(role, wantedPort: Int(port))
  }

  var name: String {
    switch self {
    case .socket(let role, let port): "\(Self.prefix).\(role.rawValue).\(port)"
    case .segments: "\(Self.prefix).hls"
    }
  }
}
