public import Capture

/// What the sources of streams can be chosen from, as ``HTTPServer`` lists it.
public struct HTTPServerDevices: Sendable {
  /// A source that is no device: pictures that are drawn, sound that is made.
  public struct Generator: Hashable, Sendable {
    /// What it is instead of.
    public enum Kind: String, Hashable, Sendable, CaseIterable, Encodable {
      /// Of a camera or screen.
      case video
      /// Of a microphone.
      case audio
    }

    /// What it gives.
    public var kind: Kind
    /// The text that names it, such as `plasma`.
    public var specification: String
    /// For people.
    public var name: String

    /// A generator.
    public init(_ kind: Kind, _ specification: String, name: String) {
      self.kind = kind
      self.specification = specification
      self.name = name
    }
  }

  /// What there is now.
  public struct List: Hashable, Sendable {
    /// Cameras, screens, windows, microphones.
    public var devices: [CaptureDevice]
    /// What is drawn or made.
    public var generators: [Generator]
    /// Whether some are left out that those who are trusted may choose.
    public var isRestricted: Bool

    /// A list.
    public init(devices: [CaptureDevice] = [], generators: [Generator] = [], isRestricted: Bool = false) {
      self.devices = devices
      self.generators = generators
      self.isRestricted = isRestricted
    }
  }

  /// Lists what there is for those who are trusted, or not; may take its time, on a thread of its own.
  public var list: @Sendable (_ isTrusted: Bool) -> List

  /// A way to list devices.
  public init(list: @escaping @Sendable (_ isTrusted: Bool) -> List) {
    self.list = list
  }
}
