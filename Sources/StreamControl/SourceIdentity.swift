internal import Authentication
package import Capture
internal import Libc
internal import MediaInput

/// The device, file or address that a video source's name refers to, whatever its options: one source has many names.
///
/// | source   | is the same as another with                                                                  |
/// |----------|----------------------------------------------------------------------------------------------|
/// | file     | the same inode, or path                                                                      |
/// | camera   | the same node, port of the bus or name in `/dev/v4l/by-id`; `v4l2:` is each that is connected |
/// | screen   | the same display, whatever its window or region                                              |
/// | network  | an address, port and path of it, whatever its user and query                                  |
///
/// Generated video and publishers (`rtmp:`) are no source that two streams could share.
package struct SourceIdentity: Hashable, Sendable {
  /// Names that only one source has.
  private let places: Set<String>
  /// Whether the addresses of a source of a network are known: a lookup that has failed may succeed later. True for other sources.
  let isResolved: Bool

  /// The identity of a source with all its names: resolves host names and opens cameras, which may block for seconds.
  ///
  /// - Parameters:
  ///   - video: The source; nil for none.
  ///   - cameraNames: Returns the names of the cameras that a specification may select, as
  ///     ``CaptureDeviceProvider/uniqueNames(of:)``.
  package init(_ video: SourceSpecification.Video?, cameraNames: @escaping (CameraSpecification) -> Set<String>) {
    (self.places, self.isResolved) = Self.places(of: video, cameraNames: cameraNames)
  }

  /// The identity of a source as far as its name alone says; nil for no source.
  package init(unresolved video: SourceSpecification.Video?) {
    (self.places, self.isResolved) = Self.places(of: video, cameraNames: nil)
  }

  /// Whether both are the same source.
  package func isSame(as other: SourceIdentity) -> Bool { !self.places.isDisjoint(with: other.places) }

  /// Whether both may be the same source as long as one of them is incomplete: cameras and addresses of networks have names
  /// that are found out with time only.
  func couldBe(_ other: SourceIdentity) -> Bool {
    self.isSame(as: other) || self.isCamera && other.isCamera || self.isNetwork && other.isNetwork
  }

  private var isCamera: Bool { self.places.contains { $0.hasPrefix("v4l2:") } }

  private var isNetwork: Bool {
    let local = ["v4l2:", "file:", "inode:", "screen:", "pipe:"]
    return self.places.contains { place in !local.contains { place.hasPrefix($0) } }
  }

  /// Whether another stream cannot have this source.
  package var isEmpty: Bool { self.places.isEmpty }

  /// - Parameter cameraNames: Nil to look nothing up.
  private static func places(
    of video: SourceSpecification.Video?, cameraNames: ((CameraSpecification) -> Set<String>)?
  ) -> (Set<String>, isResolved: Bool) {
    let isComplete = cameraNames != nil
    switch video {
    case .file(let path):
      // libavformat takes an address for a path.
      if NetworkSpecification.matches(path) {
        return (try? NetworkSpecification(parsing: path)).map { self.network($0, isComplete) } ?? ([path], true)
      }
      return (self.file(path), true)
    case .network(let address): return self.network(address, isComplete)
    case .camera(let camera):
      let place = camera.selection
      return ((cameraNames?(camera) ?? []).union(place.isEmpty ? [] : ["v4l2:\(place)"]), true)
    case .screen(let screen): return (["screen:\(self.display(screen.display))"], true)
    case .pipe: return (["pipe:"], true)
    case .other(let name): return (self.other(name, cameraNames), true)
    case .plasma, .noise, .bars, .published, nil: return ([], true)
    }
  }

  /// Names of a source that is known by its name only, as of a capturer of the program's own. One whose options cannot be parsed, or whose
  /// scheme is written in another way, is still the file, camera or screen that it names.
  private static func other(_ name: String, _ cameraNames: ((CameraSpecification) -> Set<String>)?) -> Set<String> {
    guard let colon = name.firstIndex(of: ":") else { return [] }
    let (scheme, rest) = (name[..<colon].lowercased(), String(name[name.index(after: colon)...]))
    let place = String(rest.prefix { $0 != "?" })
    switch scheme {
    case "file": return self.file(rest)
    case "screen": return ["screen:\(self.display(place.isEmpty ? nil : place))"]
    case "pipe": return ["pipe:"]
    case "v4l2":
      let names = cameraNames.flatMap { names in (try? CameraSpecification(parsing: place)).map(names) } ?? []
      return names.union(place.isEmpty ? [] : ["v4l2:\(place)"])
    default: return place.isEmpty ? [] : ["\(scheme):\(place)"]
    }
  }

  // MARK: Files and displays

  private static func file(_ path: String) -> Set<String> {
    var status = stat()
    let absolute = path.hasPrefix("/") ? path : (self.truePath(".").map { "\($0)/\(path)" } ?? path)
    let names: Set = ["file:\(self.truePath(path) ?? absolute)"]
    return stat(path, &status) == 0 ? names.union(["inode:\(status.st_dev):\(status.st_ino)"]) : names
  }

  private static func truePath(_ path: String) -> String? {
    guard !path.utf8.contains(0), let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// A display without its screen's number, 0 by default.
  private static func display(_ name: String?) -> String {
    let name = (name ?? getenv("DISPLAY").map { String(cString: $0) } ?? ":0").lowercased()
    let host = name.hasPrefix("unix:") ? name.dropFirst(4) : name[...]
    return String(host.hasSuffix(".0") ? host.dropLast(2) : host)
  }

  // MARK: Networks

  private static let ports = [
    "rtsp": 554, "rtsps": 322, "http": 80, "https": 443, "rtmp": 1935, "rtmps": 443, "rtmpt": 80,
  ]

  private static func network(
    _ specification: NetworkSpecification, _ isComplete: Bool
  ) -> (Set<String>, isResolved: Bool) {
    let host = specification.host.lowercased()
    let addresses = isComplete ? IPAddress.addresses(of: host) : IPAddress(parsing: host).map { [$0] } ?? []
    let own = isComplete ? IPAddress.ofThisMachine : []
    let hosts = addresses.map { $0.isLoopback || own.contains($0) ? "localhost" : "\($0)" } + [host]
    let port = specification.port ?? Self.ports[specification.scheme] ?? 0
    let path = self.path(of: specification.url)
    return (Set(hosts.map { "\($0):\(port)/\(path)" }), !addresses.isEmpty)
  }

  /// The path of a URL without percent encoding and slashes that do not count.
  private static func path(of url: String) -> String {
    guard let start = url.firstRange(of: "://")?.upperBound else { return "" }
    let place = url[start...].prefix { $0 != "?" && $0 != "#" }
    let path = place.firstIndex(of: "/").map { place[$0...] } ?? ""
    return (path.percentDecoded ?? String(path)).split(separator: "/").joined(separator: "/")
  }
}

/// A video source, and what its name refers to.
struct IdentifiedSource: Hashable, Sendable {
  /// The source; nil for none.
  let video: SourceSpecification.Video?
  /// Device, file or address to which the name refers, as far as it is known.
  let identity: SourceIdentity
  /// Whether all names of the source are known, as far as they could be found out.
  let isComplete: Bool
  /// Whether they need not be looked for again.
  var isFinal: Bool { self.isComplete && self.identity.isResolved }

  init(_ video: SourceSpecification.Video?, identity: SourceIdentity, isComplete: Bool) {
    self.video = video
    self.identity = identity
    self.isComplete = isComplete
  }

  /// A source of which nothing but its name is known.
  init(unresolved video: SourceSpecification.Video?) {
    self.init(video, identity: SourceIdentity(unresolved: video), isComplete: false)
  }

  /// A source with all its names; may block, as ``SourceIdentity/init(_:cameraNames:)``.
  init(_ video: SourceSpecification.Video?, cameraNames: @escaping (CameraSpecification) -> Set<String>) {
    self.init(video, identity: SourceIdentity(video, cameraNames: cameraNames), isComplete: true)
  }

  /// Whether both may be the same source, as far as is known.
  func couldBe(_ other: IdentifiedSource) -> Bool {
    self.isComplete && other.isComplete
      ? self.identity.isSame(as: other.identity) : self.identity.couldBe(other.identity)
  }

  /// Whether all that is known of another one is known of this one.
  func includes(_ other: IdentifiedSource) -> Bool {
    self == other || !other.isComplete && self.video == other.video
  }
}
