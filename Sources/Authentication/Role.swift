/// Role of a user or token.
public enum Role: Hashable, Sendable {
  /// Watches streams.
  case viewer
  /// Watches, changes streams, and reads recordings.
  case `operator`
  /// Sends the media of one stream.
  case publisher(stream: String)

  /// The name in the API and in configuration files: `viewer`, `operator` or `publisher`.
  public var name: String {
    switch self {
    case .viewer: "viewer"
    case .operator: "operator"
    case .publisher: "publisher"
    }
  }
}

/// Purpose of a request, which needs a role.
package enum Permission: Hashable, Sendable {
  /// Watching a stream, and reading its state.
  case watch
  /// Changing a stream: sources, settings, effects, recording.
  case control
  /// Listing and downloading recordings.
  case readRecordings
  /// Sending the media of a stream.
  case publish(stream: String)
  /// Reading the state of a stream's publishers; the token is in it for operators.
  case readPublisher(stream: String)
  /// Giving the program a configuration, which names files: no role has it, see ``AccessControl/makeConfigurationToken()``.
  case configure
}

/// Clients that control streams beside the operators.
public enum ControlPolicy: String, Hashable, Sendable, CaseIterable {
  /// No further clients: an operator's password or token is needed.
  case operators
  /// Programs on this machine too, without a password or token.
  case machine
  /// Every client that may watch.
  case all
  /// No client, operators included.
  case none
}

/// Clients that may list and download recordings over HTTP.
public enum RecordingsPolicy: String, Hashable, Sendable, CaseIterable {
  /// Operators.
  case operators
  /// Every client that may watch.
  case viewers
}
