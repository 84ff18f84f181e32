public import Media

/// Why a stream's effects were not changed.
public enum EffectChangeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The effects cannot be made.
  case studio(VidiconError)
  /// The image cannot be used.
  case image(VidiconError)
  /// Faces cannot be found; since they were to be covered, the whole picture is.
  case covered(VidiconError)
  /// Faces are covered, and who asked may not show them.
  case staysPrivate
  /// Too many changes wait for their turn.
  case busy
  /// The system has no thread left.
  case noThread

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .covered: "\(self.cause); until then the whole picture is covered"
    default: self.cause
    }
  }

  /// The same, without what became of the picture.
  package var cause: String {
    switch self {
    case .studio(let error): error.description
    case .image(let error): error.description
    case .covered(let error): error.description
    case .staysPrivate: "faces are private here; that is ended on the machine itself, or with a password"
    case .busy: "many changes of this stream wait already; try again in some seconds"
    case .noThread: "no thread can be started; end other programs, or raise ulimit -u"
    }
  }
}
