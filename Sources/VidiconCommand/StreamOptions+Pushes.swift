import Foundation
import Media
import Pushing

extension StreamOptions {
  private enum PushKey: String, CaseIterable {
    case rendition, bitrate, adaptive
  }

  /// The variable of the environment with URLs, separated by white space.
  static let pushVariable = "VIDICON_PUSH"

  /// Parses a push: a URL, or `rendition=low,bitrate=1500k,adaptive=no,url=URL`, where everything behind `url=` is the URL.
  /// No error quotes the text, since it has a stream key.
  static func push(_ text: String) throws(VidiconError) -> PushTarget {
    var (rendition, bitrate, isAdaptive): (String?, Int?, Bool) = (nil, nil, true)
    var rest = text[...]
    while !rest.hasPrefix("url="), !rest.hasPrefix("rtmp"), let comma = rest.firstIndex(of: ",") {
      let pair = rest[..<comma].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      rest = rest[rest.index(after: comma)...]
      guard pair.count == 2, let key = PushKey(rawValue: String(pair[0])) else { throw Self.pushUsage }
      let value = String(pair[1])
      switch key {
      case .rendition: rendition = value == "main" ? nil : value
      case .bitrate: bitrate = try Self.videoBitrate(value)
      case .adaptive:
        guard value == "yes" || value == "no" else { throw Self.pushUsage }
        isAdaptive = value == "yes"
      }
    }
    if rest.hasPrefix("url=") { rest = rest.dropFirst(4) }
    return try PushTarget(url: String(rest), rendition: rendition, bitrate: bitrate, isAdaptive: isAdaptive)
  }

  private static let pushUsage = VidiconError.usage(
    "--push", "it is neither a URL nor options before one",
    "give rtmp://HOST/APP/KEY, or rendition=low,bitrate=1500k,adaptive=no,url=rtmp://HOST/APP/KEY")

  /// Reads a file of pushes, one a line; empty lines and those that begin with # are skipped.
  ///
  /// The file must be readable by its owner only: it has stream keys.
  static func pushes(inFile path: String) throws(VidiconError) -> [PushTarget] {
    var status = stat()
    guard stat(path, &status) == 0, let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      let cause = String(cString: strerror(errno)).lowercased()
      throw VidiconError(.notFound, path: path, cause: cause, nextStep: "check the path of --push-file")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw VidiconError(
        .notPermitted, path: path, cause: "other users can read it, and it has stream keys",
        nextStep: "change that with chmod 600")
    }
    return try Self.pushes(inLines: text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline), of: path)
  }

  private static func pushes(inLines lines: [Substring], of path: String) throws(VidiconError) -> [PushTarget] {
    var targets: [PushTarget] = []
    for (index, line) in lines.enumerated() {
      let line = line.trimmingCharacters(in: .whitespacesAndNewlines)
      if line.isEmpty || line.hasPrefix("#") { continue }
      do throws(VidiconError) {
        targets.append(try Self.push(line))
      } catch {
        throw error.of("\(path.pathWithoutCredentials()):\(index + 1)")
      }
    }
    return targets
  }

  /// Parses the value of ``pushVariable``.
  static func pushes(inVariable text: String) throws(VidiconError) -> [PushTarget] {
    try Self.pushes(inLines: text.split(whereSeparator: \.isWhitespace), of: Self.pushVariable)
  }
}
