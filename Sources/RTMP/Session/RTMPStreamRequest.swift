package import Authentication
internal import Media

/// A client's request to play or publish a stream: the application of `connect` and the name of `play` or `publish`.
///
/// Players and encoders split a URL differently: `rtmp://HOST/hello` is application `hello` without a name, or no
/// application and the name `hello`; many demand both, hence `rtmp://HOST/live/hello`. ``paths`` names the streams that
/// may be meant.
package struct RTMPStreamRequest: Hashable, Sendable {
  /// Direction of the media between client and server.
  package enum Purpose: Hashable, Sendable {
    /// Receive the stream.
    case play
    /// Send the stream.
    case publish
  }

  /// Direction of the media between client and server.
  package var purpose: Purpose
  /// The application as `connect` names it, without query.
  package var application: String
  /// The stream's name without query; the stream key of a publisher, which is a secret.
  package var name: Secret
  /// The value of `token`, or of `key`, in a query of the name, the application or the URL; nil without one.
  package var token: Secret?
  /// The values of `user` and `pass` in one of these queries; nil unless there are both.
  package var login: Login?

  /// A name and a password.
  package struct Login: Hashable, Sendable {
    /// Name of the user, as it is entered.
    package var user: String
    /// Password of the user, in plain text.
    package var password: Secret
  }

  /// Creates a request of the properties of `connect` and the argument of `play` or `publish`.
  init(purpose: Purpose, application: String, url: String?, name: String) {
    self.purpose = purpose
    let (applicationPath, applicationQuery) = application.splitQuery()
    let (namePath, nameQuery) = name.splitQuery()
    self.application = String(applicationPath)
    self.name = Secret(String(namePath))
    let queries = [nameQuery, applicationQuery, url?.splitQuery().query ?? ""]
    self.login =
      queries.lazy.compactMap { query in
        guard let user = query.queryValue("user"), let password = query.queryValue("pass") else { return nil }
        return Login(user: user, password: Secret(password))
      }.first
    self.token = queries.lazy.compactMap { $0.queryValue("token") ?? $0.queryValue("key") }.first.map { Secret($0) }
  }

  /// Streams that may be meant with the secret that comes with each, in order of preference: the token of the query, or the last
  /// component of the path, which is the stream key of `rtmp://HOST/NAME`. With a token or a login the whole path is a name first.
  package var publications: [(name: String, secret: Secret?)] {
    let whole = self.paths.map { (name: $0, secret: self.token) }
    let keyed = self.paths.compactMap { path -> (name: String, secret: Secret?)? in
      guard let slash = path.lastIndex(of: "/") else { return nil }
      return (String(path[..<slash]), Secret(String(path[path.index(after: slash)...])))
    }
    return self.token == nil && self.login == nil ? keyed + whole : whole + keyed
  }

  /// Paths of the streams that may be meant, in order of preference: as written, then without the application in front,
  /// which stands for nothing where it is `live`. Empty when the request is not UTF-8.
  package var paths: [String] {
    guard let components = (self.application + "/" + self.name.text).pathComponents else { return [] }
    let whole = components.joined(separator: "/")
    guard components.count > 1, components[0] == "live" else { return [whole] }
    return [whole, components.dropFirst().joined(separator: "/")]
  }
}

extension String {
  /// The text before and behind the first question mark.
  fileprivate func splitQuery() -> (path: Substring, query: Substring) {
    guard let mark = self.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (self[...], "") }
    return (self[..<mark], self[self.utf8.index(after: mark)...])
  }

  /// The percent-decoded components without empty ones; nil when one is not UTF-8.
  fileprivate var pathComponents: [String]? {
    var components: [String] = []
    for part in self.utf8.split(separator: UInt8(ascii: "/")) {
      guard let component = Substring(part).percentDecoded else { return nil }
      components.append(component)
    }
    return components
  }
}

extension Substring {
  /// The decoded value of a name in a query.
  fileprivate func queryValue(_ name: String) -> String? {
    for pair in self.utf8.split(separator: UInt8(ascii: "&")) where pair.starts(with: "\(name)=".utf8) {
      // Clients append a slash and the name of the stream to a query of the application.
      return Substring(pair.dropFirst(name.utf8.count + 1).prefix { $0 != UInt8(ascii: "/") }).percentDecoded
    }
    return nil
  }
}
