import Authentication

/// An event of the log, which is one line of standard error: prose for people, or keys and values for programs that collect lines, see
/// ``LogFormat``.
///
/// ```swift
/// Terminal.log(LogEvent(.sourceEnded, stream: "door", fields: ["kind": "video"], message: "the video source has ended"))
/// ```
struct LogEvent: Hashable, Sendable {
  /// Kinds of events, by which programs find lines; docs/operate.md lists them.
  enum Name: String, CaseIterable, Sendable {
    /// The ports are open.
    case listening
    case streamStarted = "stream_started"
    /// Rights of clients without a password.
    case access
    case announced
    case announcementFailed = "announcement_failed"
    /// The number of viewers of a stream has changed.
    case viewers
    case viewerJoined = "viewer_joined"
    case viewerLeft = "viewer_left"
    /// A viewer could not connect.
    case viewerFailed = "viewer_failed"
    /// A wrong password or token, or one that was sent in plain text.
    case loginRefused = "login_refused"
    /// Logins of a network are refused for a time.
    case loginThrottled = "login_throttled"
    case hostRefused = "host_refused"
    /// A change over HTTP by a client that may.
    case control
    /// Number of events of clients that no other line counts.
    case clientEvents = "client_events"
    /// The program ends in order.
    case stopped
    /// The program, or a command, ends with an error.
    case failed

    /// Video or audio cannot be opened yet, or is waited for.
    case sourceWaiting = "source_waiting"
    case sourceSilent = "source_silent"
    case sourceEnded = "source_ended"
    case sourceFailed = "source_failed"
    case sourceBack = "source_back"
    case sourceSwitched = "source_switched"
    case switchFailed = "switch_failed"
    case renditionFailed = "rendition_failed"
    /// An effect fails, is slow, or does less.
    case effect

    case recordingStarted = "recording_started"
    case recordingPaused = "recording_paused"
    case recordingResumed = "recording_resumed"
    case recordingFinished = "recording_finished"
    case recordingNotFinished = "recording_not_finished"
    case recordingRepaired = "recording_repaired"
    case recordingRemoved = "recording_removed"
    case recordingBehind = "recording_behind"
    case recordingFileFull = "recording_file_full"
    case recordingAgesUnknown = "recording_ages_unknown"
    case recordingFailed = "recording_failed"
    case recordingEnded = "recording_ended"
    case snapshotSaved = "snapshot_saved"
    case snapshotFailed = "snapshot_failed"

    case pushSending = "push_sending"
    case pushWaiting = "push_waiting"
    case pushFailed = "push_failed"
    case pushStopped = "push_stopped"

    case usersChanged = "users_changed"
    case usersFailed = "users_failed"
    case reload
    /// A setting that does nothing, or less than it may seem.
    case configuration
    /// No file descriptor is left for connections.
    case descriptors
    /// Lines could not be written, since the reader of standard error was too slow.
    case linesDropped = "lines_dropped"
    /// Every other line.
    case message
  }

  /// A key with its value.
  struct Field: Hashable, Sendable {
    var key: String
    var value: String
  }

  /// Kind of the event.
  var name: Name
  /// Whether the program works as it was asked to.
  var priority: LogPriority
  /// Name of the stream that it is about; nil for none.
  var stream: String?
  /// Whether prose begins with that name; see ``about(_:)``.
  private(set) var namesStream = true
  /// Facts for programs, in the order of the line; no passwords or keys.
  var fields: [Field]
  /// Address of the client that has caused it, or its network; nil for none.
  var address: String?
  /// The network of that address, which alone is compared where equal events are folded: a host of IPv6 has as many addresses as it likes.
  let network: String?
  /// Facts that differ between events that are alike, such as durations: they are not compared where equal events are folded.
  var measures: [Field]
  /// A sentence for people: what has happened, why, and what to do; nil where standard output shows them the event.
  var message: String?
  /// Number of events like this one that had no line of their own; 0 for a line of one event.
  var foldedCount = 0

  /// Creates an event.
  ///
  /// - Parameters:
  ///   - fields: Facts for programs; those that are nil are left out.
  ///   - address: Address of the client that has caused it.
  ///   - measures: Facts that differ between events that are alike.
  init(
    _ name: Name, _ priority: LogPriority = .warning, stream: String? = nil,
    fields: KeyValuePairs<String, String?> = [:], address: String? = nil,
    measures: KeyValuePairs<String, String?> = [:], message: String? = nil
  ) {
    func present(_ pairs: KeyValuePairs<String, String?>) -> [Field] {
      pairs.compactMap { key, value in value.map { Field(key: key, value: $0) } }
    }
    self.name = name
    self.priority = priority
    self.stream = stream
    self.fields = present(fields)
    self.address = address
    self.network = address.map { Self.network(of: $0) }
    self.measures = present(measures)
    self.message = message
  }

  /// The same as an event of a stream that prose does not begin with: the message has its name, or there is no other stream.
  func about(_ stream: String) -> LogEvent {
    var event = self
    (event.stream, event.namesStream) = (stream, false)
    return event
  }

  /// The address, or for IPv6 its first 64 bits: `2001:db8::/64`.
  private static func network(of address: String) -> String {
    guard let parsed = IPAddress(parsing: address), case .v6 = parsed else { return address }
    return "\(parsed.network)/64"
  }

  /// Whether two events differ in nothing but their measures, and their addresses within a network.
  func isLike(_ other: LogEvent) -> Bool {
    self.name == other.name && self.priority == other.priority && self.stream == other.stream
      && self.fields == other.fields && self.network == other.network && self.message == other.message
  }
}

extension LogEvent.Name {
  /// Whether clients cause it, also such as have no password, and as often as they like.
  var isOfClients: Bool {
    switch self {
    case .viewerJoined, .viewerLeft, .viewerFailed, .loginRefused, .loginThrottled, .hostRefused, .control: true
    default: false
    }
  }

  /// Whether it has the newest state, which is not folded: the number of viewers, at most one a second by stream.
  var isState: Bool { self == .viewers }
}
