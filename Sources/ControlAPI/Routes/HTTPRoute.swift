internal import Authentication
package import Effects
internal import HLSServer
internal import HTTPServer

/// The resource that a path names, given the names of the streams.
package enum HTTPRoute: Hashable, Sendable {
  /// `/`: the list of streams.
  case list
  /// `/health`.
  case health
  /// `/metrics`.
  case metrics
  /// `/ca`: the certificate of the local authority, and the page that says how phones are made to trust it.
  case authority
  /// `/api/streams`.
  case streams
  /// `/api/streams/NAME`.
  case stream(String)
  /// `/api/streams/NAME/recording`.
  case recording(stream: String)
  /// `/api/streams/NAME/source`.
  case source(stream: String)
  /// `/api/streams/NAME/level`.
  case level(stream: String)
  /// `/api/streams/NAME/effects`.
  case effects(stream: String)
  /// `/api/streams/NAME/effects/mask`, or `overlay`.
  case effectImage(EffectImageUse, stream: String)
  /// `/api/streams/NAME/renditions/RENDITION`.
  case rendition(String, stream: String)
  /// `/api/streams/NAME/events`.
  case events(stream: String)
  /// `/api/streams/NAME/pushes`.
  case pushes(stream: String)
  /// `/api/streams/NAME/publisher`: what publishers see of the stream.
  case publisher(stream: String)
  /// `/api/devices`.
  case devices
  /// `/api/reload`: reads the configuration again.
  case reload
  /// `/api/configuration`: the configuration of a service that cannot read its file.
  case configuration
  /// `/api/check`: checks the machine.
  case check
  /// `/api/recordings`.
  case recordingList
  /// `/recordings/`: the page that lists recorded files.
  case recordings
  /// `/recordings/STREAM/FILE`.
  case recordedFile([String])
  /// `/api/session`: the client's role, and logins of the page.
  case session
  /// `/api/openapi.json`.
  case openAPI
  /// `/api/qr.svg`.
  case qrCode
  /// `/_page/…`: a file of the web page.
  case pageFile(String)
  /// `/NAME`.
  case page(String)
  /// `/NAME/publish`: the page that sends a camera.
  case publish(String)
  /// `/NAME/whip`: opens sessions of WebRTC publishers.
  case whip(String)
  /// `/NAME/whip/ID`: a session of a WebRTC publisher.
  case whipSession(String, stream: String)
  /// `/NAME/snapshot.jpg`.
  case snapshot(String)
  /// `/NAME/mjpeg`.
  case motionJPEG(String)
  /// `/NAME/whep`, `/NAME/RENDITION/whep`: opens sessions of WebRTC viewers.
  case whep(String)
  /// `/NAME/whep/ID`: a session of a WebRTC viewer.
  case whepSession(String, stream: String)
  /// `/NAME/FILE`, `/NAME/RENDITION/FILE`: a file of HLS. The stream of these five may be a rendition, `NAME/RENDITION`.
  case file(String, stream: String)
  /// An unknown stream, or no known path.
  case notFound

  /// Resolves decoded path segments.
  ///
  /// Fixed paths take precedence over streams. A stream's name may contain slashes; the longest matching name wins. A single
  /// segment that names no stream is a file of the first stream, as in RTSP, so that `http://HOST:PORT/index.m3u8` plays.
  ///
  /// - Parameters:
  ///   - names: Names of the served streams in the order in which serving began.
  ///   - renditions: Paths of their renditions, `NAME/RENDITION`, which have files as streams do.
  package init(_ components: [String], names: [String], renditions: [String] = []) {
    if let fixed = Self.fixed(components) {
      self = fixed
      return
    }
    self = .notFound
    if components.count > 2, components[0] == "api", components[1] == "streams" {
      let name = components[2...].joined(separator: "/")
      if names.contains(name) {
        self = .stream(name)
        return
      }
      for length in 1...2 {
        let parent = components[2...].dropLast(length).joined(separator: "/")
        guard names.contains(parent), let part = Self.part(components.suffix(length), of: parent) else { continue }
        self = part
        return
      }
    }
    let name = components.joined(separator: "/")
    if names.contains(name) {
      self = .page(name)
      return
    }
    let path = MediaPath(components, names: names, renditions: renditions)
    if let path, !path.isRendition {
      self = Self.file(path.file, of: path.stream)
      return
    }
    if components.count > 2, components[components.count - 2] == "whep" {
      let parent = components.dropLast(2)
      let name = parent.joined(separator: "/")
      let path =
        names.contains(name) ? name : MediaPath.rendition(parent, names: names, renditions: renditions)
      if let path, let id = components.last {
        self = .whepSession(id, stream: path)
        return
      }
    }
    if components.count > 2, components[components.count - 2] == "whip" {
      let name = components.dropLast(2).joined(separator: "/")
      if names.contains(name), let id = components.last {
        self = .whipSession(id, stream: name)
        return
      }
    }
    if let path {
      self = Self.file(path.file, ofRendition: path.stream)
    } else if components.count > 2, components[0] == "recordings" {
      self = .recordedFile(Array(components.dropFirst()))
    } else if components.count > 1, components[0] == "_page" {
      self = .pageFile("/" + components.joined(separator: "/"))
    }
  }

  /// The resource of a fixed path; nil for other paths.
  private static func fixed(_ components: [String]) -> HTTPRoute? {
    switch (components.count, components.first) {
    case (0, _): .list
    case (1, "health"): .health
    case (1, "metrics"): .metrics
    case (1, "ca"): .authority
    case (1, "recordings"): .recordings
    case (2, "api"):
      switch components[1] {
      case "streams": .streams
      case "openapi.json": .openAPI
      case "qr.svg": .qrCode
      case "recordings": .recordingList
      case "devices": .devices
      case "reload": .reload
      case "configuration": .configuration
      case "check": .check
      case "session": .session
      default: nil
      }
    default: nil
    }
  }

  /// Whether it is an image, which pages of other sites may show.
  var isImage: Bool {
    switch self {
    case .snapshot, .motionJPEG: true
    default: false
    }
  }

  /// Whether it is media or its signaling, which pages of the sites of `--cors` may read.
  var isMedia: Bool {
    switch self {
    case .file, .snapshot, .motionJPEG, .whep, .whepSession, .whip, .whipSession: true
    default: false
    }
  }

  /// Uses of the resource by web pages of other sites.
  var crossSiteUse: CrossSiteUse {
    if self == .health { return .open }
    return self.isImage ? .image : self.isMedia ? .media : .none
  }

  /// The permission that a request needs; nil for none.
  func permission(changing: Bool) -> Permission? {
    switch self {
    // Supervisors request `/health` without a password; a login needs none yet. Publishers have a token, and no password of a
    // viewer; the page has no secret, and neither has the certificate of an authority.
    case .health, .session, .publish, .pageFile, .authority: nil
    case .recordingList, .recordedFile: .readRecordings
    case .devices, .pushes, .reload, .check: .control
    case .configuration: .configure
    case .publisher(let name): .readPublisher(stream: name)
    // A text that is too secret for an address changes nothing.
    case .qrCode: .watch
    // A session is what its viewer watches with.
    case .whep, .whepSession: .watch
    case .whip(let name), .whipSession(_, let name): .publish(stream: name)
    default: changing ? .control : .watch
    }
  }

  /// The methods that change the resource.
  var changingMethods: [String] {
    switch self {
    case .recording, .reload, .check: ["POST"]
    case .source, .effects, .effectImage, .pushes, .configuration: ["PUT"]
    case .rendition: ["PUT", "DELETE"]
    case .stream: ["PATCH"]
    case .session: ["POST", "DELETE"]
    case .qrCode: ["POST"]
    case .whep: ["POST"]
    case .whepSession, .whipSession: ["PATCH", "DELETE"]
    case .whip: ["POST"]
    default: []
    }
  }

  /// The value of `Allow`.
  var methods: String {
    ((self.isReadable ? ["GET", "HEAD"] : []) + self.changingMethods + ["OPTIONS"]).joined(separator: ", ")
  }

  /// Whether GET and HEAD are supported.
  var isReadable: Bool {
    switch self {
    case .effectImage, .reload, .configuration, .check, .rendition, .whepSession, .whip, .whipSession: false
    default: true
    }
  }

  /// Suffixes of the paths that accept images.
  static let imageSuffixes = EffectImageUse.allCases.map { "/effects/\($0.rawValue)" }

  /// Resolves the segments after `/api/streams/NAME`.
  private static func part(_ names: [String].SubSequence, of stream: String) -> HTTPRoute? {
    if names.count == 2, names.first == "renditions", let name = names.last { return .rendition(name, stream: stream) }
    return switch names.joined(separator: "/") {
    case "recording": .recording(stream: stream)
    case "source": .source(stream: stream)
    case "level": .level(stream: stream)
    case "effects": .effects(stream: stream)
    case "effects/mask": .effectImage(.mask, stream: stream)
    case "effects/overlay": .effectImage(.overlay, stream: stream)
    case "events": .events(stream: stream)
    case "pushes": .pushes(stream: stream)
    case "publisher": .publisher(stream: stream)
    default: nil
    }
  }

  private static func file(_ file: String, of name: String) -> HTTPRoute {
    switch file {
    case "publish": .publish(name)
    case "whip": .whip(name)
    default: Self.file(file, ofRendition: name)
    }
  }

  /// A file of a rendition, which no publisher sends.
  private static func file(_ file: String, ofRendition name: String) -> HTTPRoute {
    switch file {
    case "snapshot.jpg": .snapshot(name)
    case "mjpeg": .motionJPEG(name)
    case "whep": .whep(name)
    default: .file(file, stream: name)
    }
  }
}
