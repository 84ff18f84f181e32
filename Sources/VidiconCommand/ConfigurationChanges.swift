import Authentication
import Capture
import MediaInput
import StreamControl

/// Changes that lead from the configuration in force to one that was read again, in the order in which they are performed: streams end
/// before others begin, since a device has one owner.
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
    /// A stream is stopped before others change, one of which gets its camera or microphone; ``restarted(_:)`` follows.
    case stopped(String)
    /// Other options of a stream differ: it is stopped, unless it was already, and started again.
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
      let present = current.streams.first { $0.name == options.name }
      return Self.change(from: present, to: options, publishing: publishing)
    }
    let (stopping, changing) = Self.stoppingFirst(
      of: changes.filter { $0.rank == 1 } + changes.filter { $0.rank == 2 }, from: current.streams)
    list += stopping.map { Change.stopped($0.name) } + changing
    // From the last place on, so that each has its place among the streams again.
    list += stopping.reversed().map { Change.restarted($0) }
    for rank in 3...4 { list += changes.filter { $0.rank == rank } }
    let settings = next.settings(thatDifferFrom: current)
    if !settings.isEmpty { list.append(.postponedSettings(settings)) }
    self.list = list
  }

  /// Finds the streams that have to stop before others change, one of which gets a device of theirs: where two exchange their cameras, one
  /// of them.
  ///
  /// - Parameters:
  ///   - changes: Streams that are started again, or switched, in their order.
  ///   - current: The streams with their options in force.
  /// - Returns: The streams that stop in the order of `current`, and the other changes.
  private static func stoppingFirst(
    of changes: [Change], from current: [StreamOptions]
  ) -> (stopping: [StreamOptions], others: [Change]) {
    var (stopping, others): ([StreamOptions], [Change]) = ([], [])
    func devices(_ name: String) -> Set<String> { current.first { $0.name == name }?.devices ?? [] }
    for (index, change) in changes.enumerated() {
      guard let next = change.options, !stopping.contains(where: { $0.name == next.name }) else { continue }
      others.append(change)
      let wanted = next.devices.subtracting(devices(next.name))
      for later in changes[(index + 1)...].compactMap(\.options)
      where !wanted.isDisjoint(with: devices(later.name).subtracting(later.devices)) {
        if !stopping.contains(where: { $0.name == later.name }) { stopping.append(later) }
      }
    }
    let places = current.map(\.name)
    stopping.sort { (places.firstIndex(of: $0.name) ?? 0) < (places.firstIndex(of: $1.name) ?? 0) }
    return (stopping, others)
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

extension ConfigurationChanges.Change {
  /// Place among the changes: equal ones are in the order of the configuration.
  fileprivate var rank: Int {
    switch self {
    case .users, .removed, .stopped: 0
    case .restarted: 1
    case .switched: 2
    case .added: 3
    case .postponedStream, .postponedSettings: 4
    }
  }

  /// The options that a stream gets which runs already; nil for other changes.
  fileprivate var options: StreamOptions? {
    switch self {
    case .restarted(let options), .switched(let options, _, _): options
    case .users, .removed, .stopped, .added, .postponedStream, .postponedSettings: nil
    }
  }
}

extension StreamOptions {
  /// The camera and the microphone that its sources name, whatever their options: each has one owner.
  fileprivate var devices: Set<String> {
    guard let named = try? self.specification() else { return [] }
    var devices: Set<String> = []
    if case .camera(let camera) = named.video { devices.insert("v4l2:\(camera.selection)") }
    if case .microphone(let microphone) = named.audio { devices.insert("mic:\(microphone.name ?? "")") }
    return devices
  }
}
