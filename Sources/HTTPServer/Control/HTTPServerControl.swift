public import Capture
public import Media

/// What viewers may change of a stream while it runs, as ``HTTPServer`` offers it: its sources, how the picture is turned,
/// whether it can be heard, its bitrate, its camera's controls.
public struct HTTPServerControl: Sendable {
  /// Why something was not changed; then nothing was.
  public struct Failure: Error, Hashable, Sendable {
    /// What kind of failure it is.
    public enum Code: Hashable, Sendable {
      /// It cannot be: an unknown source or control, a value out of range.
      case invalid
      /// Not for those who ask from elsewhere without a password.
      case notPermitted
      /// Not in the present state of the stream.
      case wrongState
      /// The source cannot be opened, or the device has refused.
      case failed
      /// Too many others wait for their turn.
      case busy
    }

    /// What kind of failure it is.
    public var code: Code
    /// What is wrong, and what to do about it, for a user to read; without passwords.
    public var reason: String

    /// A failure.
    public init(_ code: Code, _ reason: String) {
      self.code = code
      self.reason = reason
    }
  }

  /// Texts that name the sources of a stream, such as `v4l2:/dev/video0` and `mic:`.
  public struct Sources: Hashable, Sendable {
    /// Of the picture; nil where it has no name, or is not to be changed.
    public var video: String?
    /// Of the sound; likewise.
    public var audio: String?

    /// Sources.
    public init(video: String? = nil, audio: String? = nil) {
      self.video = video
      self.audio = audio
    }
  }

  /// How things stand.
  public struct State: Hashable, Sendable {
    /// The sources now.
    public var sources: Sources
    /// The sources that the stream began with.
    public var startSources: Sources
    /// Whether left and right of the picture are exchanged.
    public var isMirrored = false
    /// How the picture is turned, clockwise.
    public var rotation = Orientation.up
    /// Whether previews are to be mirrored, as people know themselves.
    public var isPreviewMirrored = false
    /// Whether silence is sent instead of the sound.
    public var isMuted = false
    /// Whether encoding pauses.
    public var isPaused = false
    /// The picture's bits a second.
    public var bitrate: Int
    /// The highest sample of the last tenth of a second, in dBFS, -120 for silence.
    public var peakLevel = -120.0
    /// The root of the mean square of the same time, likewise.
    public var rmsLevel = -120.0

    /// Whether the picture's source is of a kind that has controls.
    public var hasControls = false

    /// A state in which nothing is turned, muted or paused.
    public init(sources: Sources = Sources(), startSources: Sources = Sources(), bitrate: Int) {
      self.sources = sources
      self.startSources = startSources
      self.bitrate = bitrate
    }
  }

  /// What is to be changed; nil for what is to stay.
  public struct Change: Hashable, Sendable {
    /// The picture's bits a second.
    public var bitrate: Int?
    /// Whether left and right of the picture are exchanged.
    public var isMirrored: Bool?
    /// How the picture is turned, clockwise.
    public var rotation: Orientation?
    /// Whether silence is sent instead of the sound.
    public var isMuted: Bool?
    /// Whether encoding pauses.
    public var isPaused: Bool?
    /// Values of the source's controls, by their names; nil for the default one.
    public var controls: [String: Int?] = [:]
    /// Whether controls that are not in ``controls`` get their defaults.
    public var resetsControls = false

    /// No change.
    public init() {}
  }

  /// How things stand, for those who are trusted or not: those are not told the folders of files. Called on an event loop,
  /// so it must not wait.
  public var state: @Sendable (_ isTrusted: Bool) -> State
  /// The controls of the picture's source; may ask the device.
  public var controls: @Sendable () -> [DeviceControl]
  /// Replaces sources, and returns when that is done.
  public var replace: @Sendable (Sources, _ isTrusted: Bool) async throws(Failure) -> Void
  /// Changes all of it or nothing, and returns when that is done.
  public var change: @Sendable (Change) async throws(Failure) -> Void

  /// A stream's control.
  public init(
    state: @escaping @Sendable (_ isTrusted: Bool) -> State, controls: @escaping @Sendable () -> [DeviceControl],
    replace: @escaping @Sendable (Sources, _ isTrusted: Bool) async throws(Failure) -> Void,
    change: @escaping @Sendable (Change) async throws(Failure) -> Void
  ) {
    self.state = state
    self.controls = controls
    self.replace = replace
    self.change = change
  }
}
