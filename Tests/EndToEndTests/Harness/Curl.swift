import Foundation
import Testing

/// Response of an HTTP request that curl made.
struct Curl {
  var status: Int
  /// HTTP version: "1.1", "2".
  var version: String
  /// Header fields of the last response, in order, names in lower case.
  var headers: [(name: String, value: String)]
  var body: [UInt8]

  var text: String { String(decoding: self.body, as: UTF8.self) }

  subscript(name: String) -> String? {
    self.headers.first { $0.name == name }?.value
  }

  func values(of name: String) -> [String] {
    self.headers.filter { $0.name == name }.map(\.value)
  }

  /// Decodes the body as JSON.
  func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(self.body))
  }

  /// Makes a request.
  ///
  /// - Throws: When there was no response. A status of 400 or more is not an error.
  static func get(_ url: String, _ options: [String] = [], within limit: Duration = .seconds(15)) async throws -> Curl {
    try await TestMedia.withTemporaryFolder { folder in
      let arguments =
        ["--silent", "--show-error", "--path-as-is", "--insecure", "--noproxy", "*", "--dump-header", "\(folder)/head"]
        + ["--write-out", "%{stderr}%{http_code} %{http_version}"] + options + [url]
      let run = try await Tool.run("curl", arguments, within: limit)
      try #require(run.succeeded, "curl \(options) \(url): \(run.errors)")
      // The last line: `--retry` prints warnings before it.
      let outcome = run.errors.split(separator: "\n").last?.split(separator: " ").map(String.init) ?? []
      try #require(outcome.count == 2, "\(run.errors)")
      let head = try String(decoding: Data(contentsOf: URL(fileURLWithPath: "\(folder)/head")), as: UTF8.self)
      return Curl(
        status: Int(outcome[0]) ?? 0, version: outcome[1], headers: Self.headers(ofLastAnswerIn: head), body: run.output
      )
    }
  }

  /// Makes a request until its status is neither 503 nor 504.
  ///
  /// The program answers so where the first segments of HLS take three times their duration, or a frame two seconds: a slow
  /// machine, for which most players fail at once.
  @discardableResult
  static func whenReady(_ url: String, _ options: [String] = []) async throws -> Curl {
    var last: Curl?
    try await waitUntil {
      let answer = try await Self.get(url, options)
      last = answer
      return answer.status != 503 && answer.status != 504
    }
    return try #require(last)
  }

  private static func headers(ofLastAnswerIn text: String) -> [(name: String, value: String)] {
    let answers = text.replacingOccurrences(of: "\r", with: "").components(separatedBy: "\n\n")
    let last = answers.last { !$0.isEmpty } ?? ""
    return last.split(separator: "\n").dropFirst().compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      return (parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces))
    }
  }
}
