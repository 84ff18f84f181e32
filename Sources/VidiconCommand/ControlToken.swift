import Authentication
import Foundation
import Media

/// A token of a running server, in a file that only its user reads: that of operators, or that with which root gives a configuration.
///
/// `curl` and `vidicon` commands of the same user find it: `$XDG_RUNTIME_DIR/vidicon/control-PORT`.
struct ControlToken: Sendable {
  /// Purpose of a token.
  enum Purpose: String {
    /// Control of streams, as an operator.
    case control
    /// The configuration of the package's service, which `vidicon reload` of root sends: an operator's token is not enough.
    case configuration

    /// Beginning of the names of the files; the port of HTTP, which differs between the servers of a machine, follows.
    fileprivate var prefix: String { "\(self.rawValue)-" }
  }

  /// The token.
  let secret: Secret
  private let file: RuntimeFile?

  /// Path of the file; nil when it could not be written.
  var path: String? { self.file?.path }

  /// Writes the token to its file.
  ///
  /// - Parameters:
  ///   - purpose: Purpose of the token.
  ///   - port: The port of HTTP, which differs between the servers of a machine.
  ///   - environment: Names the folders.
  ///   - user: The user whose folder it must be.
  init(
    _ secret: Secret, for purpose: Purpose = .control, port: Int,
    environment: [String: String] = ProcessInfo.processInfo.environment, user: uid_t = getuid()
  ) {
    self.secret = secret
    do {
      self.file = try RuntimeFile(
        name: "\(purpose.prefix)\(port)", text: secret.text, environment: environment, user: user)
    } catch {
      self.file = nil
      let nextStep =
        switch purpose {
        case .control where Terminal.isInteractive: "copy it from the terminal"
        case .control: "give an --operator, or set XDG_RUNTIME_DIR to a folder of this user"
        case .configuration: "have a changed configuration read by \"systemctl restart vidicon\""
        }
      Terminal.warn("the \(purpose.rawValue) token is not in a file (\(error.localizedDescription)); \(nextStep)")
    }
  }

  /// Removes the file.
  func remove() {
    self.file?.remove()
  }

  /// The tokens of a user's servers by HTTP port, of the files in folders, see ``RuntimeFile/folders(environment:user:)``. A server that was
  /// killed leaves its own.
  ///
  /// - Throws: ``VidiconError`` for a file that others can read or replace, or without a token.
  static func find(
    _ purpose: Purpose = .control, in folders: [String], of user: uid_t
  ) throws(VidiconError) -> [Int: String] {
    var tokens: [Int: String] = [:]
    for (port, file) in try RuntimeFile.contents(prefix: purpose.prefix, in: folders, of: user) {
      guard let token = AccessToken(parsing: file.text, role: .operator) else {
        throw VidiconError(
          .failed, subject: file.path, cause: "it is not a file with a token that only its user reads",
          nextStep: "remove it")
      }
      tokens[port] = token.secret.text
    }
    return tokens
  }
}

/// Facts about access for the status display.
struct AccessSummary: Sendable {
  /// The operator token; nil when control is off, or open to every viewer.
  var token: ControlToken?
  /// Clients that control without a token.
  var control: ControlPolicy
  /// Whether watching needs a password or token.
  var isWatchingProtected: Bool
  /// Whether the ports are open to this machine alone.
  var isLocal = false
  /// Keys of the streams whose source is `rtmp:`, `rtsp:` or `whip:`.
  var publishers: [PublisherAccess] = []

  /// The address of a stream's page that makes the browser an operator. For terminals only.
  func controlAddress(page: String) -> String? {
    self.token.map { "\(page)#control=\($0.secret.text)" }
  }

  /// The text that leads to control when the program starts: on a terminal the address with the token, elsewhere the path of
  /// the token's file, since journals and log files keep what is printed. nil without a token.
  func controlText(page: String, isTerminal: Bool) -> String? {
    if isTerminal { return self.controlAddress(page: page) }
    return self.token?.path.map { "with the token in \($0); \"vidicon status\" shows the address" }
  }

  /// Sentences for users about the rights of clients without credentials.
  var notes: [String] {
    var notes: [String] = []
    if !self.isWatchingProtected {
      let place = self.isLocal ? "machine" : "network"
      notes.append("anyone on this \(place) can watch; --user NAME:PASSWORD asks for a password")
    }
    switch self.control {
    case .all: notes.append("everyone who can watch can control, since --control is all")
    case .machine: notes.append("every program on this machine can control, since --control is machine")
    case .none: notes.append("control is off, since --control is none")
    case .operators: break
    }
    return notes
  }
}
