/// Why a picture cannot be drawn over others.
public struct OverlayImageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// There is no such file.
    case notFound
    /// The file is there, but cannot be read.
    case notReadable
    /// It is neither PNG nor JPEG.
    case unknownFormat
    /// It has more pixels or bytes than are taken.
    case tooLarge
    /// It ends too early or is broken.
    case invalidData
  }

  /// What kind of failure it is.
  public var code: Code
  /// The file, or what else the picture is called.
  public var name: String
  /// What happened, for a user to read: no capital at the start, no full stop at the end.
  public var cause: String

  /// An error.
  public init(_ code: Code, name: String, cause: String) {
    self.code = code
    self.name = name
    self.cause = cause
  }

  /// What the user can do about it.
  public var nextStep: String {
    switch self.code {
    case .notFound, .notReadable: "check the path and its permissions"
    case .unknownFormat, .invalidData: "save it again as PNG"
    case .tooLarge: "make it smaller; pictures of the stream's size are large enough"
    }
  }

  /// One line with name, cause and next step.
  public var description: String { "\(self.name): \(self.cause); \(self.nextStep)" }
}
