public import Media
internal import Streaming

/// Sources of a stream: those that it has, or those that replace them.
package struct SourceSelection: Hashable, Sendable {
  /// The video source; nil where there is none that is known, or it stays as it is.
  package var video: SourceSpecification.Video?
  /// The audio source; nil where there is none that is known, or it stays as it is.
  package var audio: SourceSpecification.Audio?

  /// Creates a selection; nil keeps a source.
  package init(video: SourceSpecification.Video? = nil, audio: SourceSpecification.Audio? = nil) {
    self.video = video
    self.audio = audio
  }
}

/// The names of a stream's sources as clients send them, and as they are shown; in JSON the body of `PUT /api/streams/NAME/source`.
package struct SourceNames: Codable, Hashable, Sendable {
  /// The video source; nil where it has no name, or stays as it is.
  package var video: String?
  /// The audio source; nil where it has no name, or stays as it is.
  package var audio: String?

  /// Creates a request to replace the named sources; nil keeps a source.
  package init(video: String? = nil, audio: String? = nil) {
    self.video = video
    self.audio = audio
  }
}

/// Settings to change on a running stream; nil keeps the current value.
public struct StreamChange: Hashable, Sendable {
  /// Range of ``bitrate``, in bits per second.
  public static let bitrates = RenditionSettings.bitrates

  /// Video bitrate, in bits per second.
  public var bitrate: Int?
  /// Whether the video is mirrored horizontally.
  public var isMirrored: Bool?
  /// Clockwise rotation of the current video source, in addition to the orientation of its frames.
  public var rotation: Orientation?
  /// Whether silence is encoded in place of the audio.
  public var isMuted: Bool?
  /// Whether video encoding is paused: viewers see a still frame, audio continues.
  public var isPaused: Bool?
  /// Values of the camera's controls by name; a nil value selects the default.
  public var controls: [String: Int?] = [:]
  /// Whether controls that ``controls`` does not name return to their defaults.
  public var resetsControls = false

  /// Creates a change that keeps every setting.
  public init() {}
}

extension StreamChange: Encodable {
  /// Keys of a change in JSON.
  package enum Key: String, CodingKey, CaseIterable {
    case bitrate, mirror, rotation, mute, pause, controls
  }

  /// Encodes the body of `PATCH /api/streams/NAME`: settings that are kept are left out. A body either sets controls or resets them all;
  /// of a change that does both, the former is encoded.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encodeIfPresent(self.bitrate, forKey: .bitrate)
    try container.encodeIfPresent(self.isMirrored, forKey: .mirror)
    try container.encodeIfPresent(self.rotation?.rawValue, forKey: .rotation)
    try container.encodeIfPresent(self.isMuted, forKey: .mute)
    try container.encodeIfPresent(self.isPaused, forKey: .pause)
    if !self.controls.isEmpty {
      try container.encode(self.controls, forKey: .controls)
    } else if self.resetsControls {
      try container.encodeNil(forKey: .controls)
    }
  }
}
