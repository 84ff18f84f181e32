public import Media

/// Why there is no picture of a stream.
public enum PictureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The stream has no source of pictures, has not started, or is over.
  case noPictures
  /// As many widths as are made at once are asked for by others; the next attempt may succeed.
  case tooManyWidths
  /// The system has no thread left to make it on.
  case noThread
  /// The JPEG encoder cannot be opened or has failed.
  case codec(VidiconError)

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .noPictures: "the stream shows no picture; ask again when it runs, or choose one with video"
    case .tooManyWidths: "too many widths are asked for at once; try again, or take a width that others use"
    case .noThread: "the system has no thread left; end other programs or raise the limit of processes (ulimit -u)"
    case .codec(let error): error.description
    }
  }
}
