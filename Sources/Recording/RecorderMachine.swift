internal import Media

/// Decides what a recorder's orders do. Pure: sessions are performed by ``Recorder``, and times are arguments.
///
///              start                started
///     idle ─────────────▶ starting ─────────────▶ recording ◀──▶ paused
///      ▲                     │                        │            │
///      └─────────────────────┴────── stop, end ───────┴────────────┘
///
/// Orders that arrive while a recording starts are performed when it has started, in their order. A stopped recording
/// finishes its files by itself: the recorder is idle, and the next recording can start at once. Every decision is
/// covered by a dialogue in `RecorderMachineTests`.
struct RecorderMachine: ~Copyable {
  /// An order to a session, with the time at which it was given.
  enum Command: Equatable {
    case pause(MediaTime)
    case resume(MediaTime)
    case stop(MediaTime)
  }

  /// Consequence of an order.
  enum Decision: Equatable {
    /// Pass the command to the session.
    case perform(Command)
    /// No step: the order is fulfilled already, or is performed when the recording has started.
    case nothing
    /// The order needs a recording that runs.
    case refused
  }

  private enum Phase {
    case idle
    /// Commands that arrived meanwhile.
    case starting([Command])
    case recording
  }

  private var phase = Phase.idle
  /// Whether a pause was ordered and neither resumed nor stopped.
  private(set) var isPaused = false

  /// Whether a recording runs or starts, and was not stopped.
  var isRunning: Bool {
    switch self.phase {
    case .idle: false
    case .starting(let commands): !commands.contains { if case .stop = $0 { true } else { false } }
    case .recording: true
    }
  }

  /// Begins a recording; false while another one runs or starts, also one that was stopped meanwhile.
  mutating func start() -> Bool {
    guard case .idle = self.phase else { return false }
    self.phase = .starting([])
    self.isPaused = false
    return true
  }

  /// Returns the commands that arrived while the recording started, in order.
  mutating func started() -> [Command] {
    guard case .starting(let commands) = self.phase else { return [] }
    if self.isRunning { self.phase = .recording } else { self.reset() }
    return commands
  }

  /// Processes the end of a recording that failed to start, or ended by itself.
  mutating func ended() { self.reset() }

  mutating func pause(at time: MediaTime) -> Decision {
    guard self.isRunning else { return .refused }
    guard !self.isPaused else { return .nothing }
    self.isPaused = true
    return self.order(.pause(time))
  }

  mutating func resume(at time: MediaTime) -> Decision {
    guard self.isRunning else { return .refused }
    guard self.isPaused else { return .nothing }
    self.isPaused = false
    return self.order(.resume(time))
  }

  mutating func stop(at time: MediaTime) -> Decision {
    guard self.isRunning else { return .refused }
    let decision = self.order(.stop(time))
    if case .recording = self.phase { self.reset() }
    self.isPaused = false
    return decision
  }

  private mutating func order(_ command: Command) -> Decision {
    guard case .starting(let commands) = self.phase else { return .perform(command) }
    self.phase = .starting(commands + [command])
    return .nothing
  }

  private mutating func reset() {
    self.phase = .idle
    self.isPaused = false
  }
}
