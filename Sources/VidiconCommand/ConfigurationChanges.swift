import Authentication
import MediaInput

/// Changes that lead from the configuration in force to one that was read again, in the order in which they are performed: streams end before
/// others begin, since a device has one owner.
///
/// Streams are compared by their names. One that is equal is in no change, so that its viewers notice nothing, and what operators have
/// changed of it stays.
struct ConfigurationChanges: Equatable {
  /// One change.
  enum Change: Equatable {
    /// Users or tokens differ.
    case users
    /// The stream of this name is no longer there.
    case removed(String)
    /// The sources of a stream differ, and nothing else: they are switched, as by an operator.
    case switched(StreamOptions, video: Bool, audio: Bool)
    /// Other options of a stream differ: it is stopped and started again.
    case restarted(StreamOptions)
    /// A stream is new.
    case added(StreamOptions)
    /// A stream keeps its options until the program is started again.
    case postponedStream(String, cause: String)
    /// Settings of the server keep their values until the program is started again.
    case postponedSettings([ServeConfiguration.Key])
  }

  /// The changes in their order; empty where nothing has changed.
  let list: [Change]

  /// Compares two configurations.
  ///
  /// - Parameters:
  ///   - current: The configuration in force.
  ///   - next: The one that was read again, which is valid.
  ///   - publishing: Protocols over which publishers reach the running program; sources of others wait for its next start.
  init(
    from current: ServeConfiguration, to next: ServeConfiguration,
    publishing: Set<PublishedSource.Scheme> = Set(PublishedSource.Scheme.allCases)
  ) {
    var list: [Change] = []
    if current.access.users != next.access.users || current.access.tokens != next.access.tokens { list.append(.users) }
    for stream in current.streams where !next.streams.contains(where: { $0.name == stream.name }) {
      list.append(.removed(stream.name))
    }
    let changes = next.streams.compactMap { options -> Change? in
      var options = options
      // WebRTC is switched on or off at the next start.
      options.isForWebRTC = current.isWebRTCOn
      let present = current.streams.first { $0.name == options.name }
      return Self.change(from: present, to: options, publishing: publishing)
    }
    func rank(_ change: Change) -> Int {
      switch change {
      case .users, .removed: 0
      case .restarted: 1
      case .switched: 2
      case .added: 3
      case .postponedStream, .postponedSettings: 4
      }
    }
    for number in 1...4 { list += changes.filter { rank($0) == number } }
    let settings = next.settings(thatDifferFrom: current)
    if !settings.isEmpty { list.append(.postponedSettings(settings)) }
    self.list = list
  }

  /// The change of one stream; nil for none.
  private static func change(
    from current: StreamOptions?, to next: StreamOptions, publishing: Set<PublishedSource.Scheme>
  ) -> Change? {
    guard current != next else { return nil }
    let hasOtherVideo = current?.source != next.source
    if let current, let change = Self.switching(from: current, to: next) {
      guard hasOtherVideo, let cause = Self.obstacle(to: next, publishing: publishing) else { return change }
      return .postponedStream(next.name, cause: cause)
    }
    if let cause = Self.obstacle(to: next, publishing: publishing) {
      return .postponedStream(next.name, cause: cause)
    }
    return current == nil ? .added(next) : .restarted(next)
  }

  /// The switch that leads from options to others; nil where more than the sources differs, or a running stream cannot have them.
  private static func switching(from current: StreamOptions, to next: StreamOptions) -> Change? {
    let hasOtherVideo = current.source != next.source
    // A camera is chosen, and a publisher gets its key, when a stream starts.
    if hasOtherVideo, next.source == nil || next.publishScheme != nil { return nil }
    // A running stream neither gets nor loses a track.
    if (current.audio == "none") != (next.audio == "none") { return nil }
    var rest = current
    (rest.source, rest.audio) = (next.source, next.audio)
    if hasOtherVideo { rest.publishKey = next.publishKey }
    guard rest == next else { return nil }
    // With "auto" the audio is that of the video source.
    let hasOtherAudio = current.audio != next.audio || (hasOtherVideo && next.audio == "auto")
    return .switched(next, video: hasOtherVideo, audio: hasOtherAudio)
  }

  /// Reason why a running program cannot open the source of a stream; nil without one.
  private static func obstacle(to options: StreamOptions, publishing: Set<PublishedSource.Scheme>) -> String? {
    if options.source == "pipe:" { return "standard input is read once" }
    guard let scheme = options.publishScheme, !publishing.contains(scheme) else { return nil }
    return "the port for publishers of its source \(scheme.sourceName) is opened at the start"
  }
}
