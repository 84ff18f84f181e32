import ArgumentParser
import ControlAPI
import Foundation
import Media
import StreamControl

/// `vidicon control`: changes a stream of a server that runs on this machine.
struct ControlCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "control", abstract: "Change a stream of a running server, with the control token of the same user.",
    usage: "vidicon control [NAME] KEY=VALUE… [--port PORT]",
    discussion: """
      Examples: vidicon control mirror=true
                vidicon control door source=v4l2:/dev/video1 audio=mic:

      The keys are source and audio (as --source and --audio of vidicon serve), bitrate (such as 2300k), mirror, mute and \
      pause (true or false), rotation (0, 90, 180 or 270), and record (start, stop, pause or resume).
      """)

  @Argument(help: "The name of the stream, where there are several, and what to change.")
  var words: [String]

  @OptionGroup var server: RunningServer.Options

  func run() throws {
    let arguments = try ControlArguments(self.words)
    let server = try RunningServer.find(self.server)
    let streams = try server.streams(named: arguments.name)
    guard let stream = streams.first, streams.count == 1 else {
      let names = streams.map(\.name).joined(separator: ", ")
      throw VidiconError(
        .notFound, subject: "the server", cause: streams.isEmpty ? "it has no stream" : "it has several streams",
        nextStep: streams.isEmpty ? "start one with --source" : "name one of them first: \(names)")
    }
    for request in arguments.requests(page: stream.page) {
      _ = try server.request(request.method, request.path, request.body)
    }
    for line in try server.streams(named: stream.name).flatMap({ $0.lines(token: nil) }) { Terminal.print(line) }
  }
}

/// The arguments of `vidicon control`.
struct ControlArguments: Equatable {
  /// A request of the HTTP API.
  struct Request: Equatable {
    var method: String
    var path: String
    var body: Data
  }

  private static let keys = "source, audio, bitrate, mirror, mute, pause, rotation, record"

  /// Name of the stream; nil for the only one.
  private(set) var name: String?
  private var settings = StreamChange()
  private var source = SourceNames()
  private var recording: RecordingRequest?

  /// Parses `[NAME] KEY=VALUE…`.
  init(_ words: [String]) throws(VidiconError) {
    var pairs = words[...]
    if let first = pairs.first, !first.contains("=") {
      guard !first.contains("@"), !first.contains("://") else {
        throw .usage(quoted(first), "it is not KEY=VALUE", "give one of the keys \(Self.keys)")
      }
      self.name = first
      pairs = pairs.dropFirst()
    }
    guard !pairs.isEmpty else {
      throw .usage("vidicon control", "there is nothing to change", "give KEY=VALUE with one of the keys \(Self.keys)")
    }
    var seen: Set<Substring> = []
    for pair in pairs {
      guard let separator = pair.firstIndex(of: "=") else {
        throw .usage(quoted(pair), "it is not KEY=VALUE", "give one of the keys \(Self.keys)")
      }
      let key = pair[..<separator]
      guard seen.insert(key).inserted else { throw .usage(quoted(key), "it is given twice", "give it once") }
      try self.set(key, to: String(pair[pair.index(after: separator)...]))
    }
  }

  private mutating func set(_ key: Substring, to text: String) throws(VidiconError) {
    switch key {
    case "source": self.source.video = Self.absolute(text)
    case "audio": self.source.audio = Self.absolute(text)
    case "bitrate": self.settings.bitrate = try StreamOptions.videoBitrate(text)
    case "mirror": self.settings.isMirrored = try StreamOptions.boolean(text)
    case "mute": self.settings.isMuted = try StreamOptions.boolean(text)
    case "pause": self.settings.isPaused = try StreamOptions.boolean(text)
    case "rotation":
      guard let rotation = Int(text).flatMap(Orientation.init) else {
        throw .usage(quoted(text), "it is not a rotation", "give 0, 90, 180 or 270")
      }
      self.settings.rotation = rotation
    case "record":
      guard let action = RecordingControl.Action(rawValue: text) else {
        throw .usage(quoted(text), "it is not an action of a recording", "give start, stop, pause or resume")
      }
      self.recording = RecordingRequest(action: action)
    default: throw .usage(quoted(key), "there is no such key", "give one of \(Self.keys)")
    }
  }

  /// The requests, in the order in which they are sent.
  ///
  /// - Parameter page: Path of the stream.
  func requests(page: String) -> [Request] {
    var requests: [Request] = []
    func append(_ method: String, _ path: String, _ body: some Encodable) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      // Safe because texts, numbers and booleans are JSON.
      guard let body = try? encoder.encode(body) else { fatalError("a command that is no JSON") }
      requests.append(Request(method: method, path: "/api/streams\(page)\(path)", body: body))
    }
    if self.source != SourceNames() { append("PUT", "/source", self.source) }
    if self.settings != StreamChange() { append("PATCH", "", self.settings) }
    if let recording { append("POST", "/recording", recording) }
    return requests
  }

  /// The server runs in another folder.
  private static func absolute(_ source: String) -> String {
    guard source.hasPrefix("file:"), !source.hasPrefix("file:/"), !source.contains("://"), source.utf8.count > 5 else {
      return source
    }
    return "file:" + FileManager.default.currentDirectoryPath + "/" + source.dropFirst(5)
  }
}
