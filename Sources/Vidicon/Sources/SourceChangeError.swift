public import Media

/// Why a stream's sources or settings were not changed; then nothing was, but for ``notRestored(_:earlier:)``.
public enum SourceChangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What names a source or a control is none, or a value cannot be.
  case invalid(VidiconError)
  /// It is not offered to those who ask.
  case notPermitted(source: String)
  /// The stream cannot in its present state.
  case wrongState(String)
  /// The source cannot be opened, or gives nothing.
  case failed(VidiconError)
  /// The source cannot be opened, or gives nothing, and the picture's earlier one does not start again either.
  case notRestored(VidiconError, earlier: VidiconError)
  /// Too many changes wait for their turn.
  case busy

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .invalid(let error): error.description
    case .notPermitted(let source):
      "\(source): it is taken from this machine only, or with a password; start the server with --user NAME:PASSWORD"
    case .wrongState(let reason): reason
    case .failed(let error): error.description
    case .notRestored(let error, let earlier): "\(error); and the earlier source does not start again: \(earlier)"
    case .busy: "many changes of this stream wait already; try again in some seconds"
    }
  }
}
