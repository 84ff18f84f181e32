import Authentication
import Media
import MediaInput
import Testing

@testable import VidiconCommand

/// Changes that are made after the configuration file was read again.
@Suite("Changes of a configuration")
struct ConfigurationChangesTests {
  private static let start = """
    users:
      - {name: anna, password: sesame}
    streams:
      - {name: door, source: bars, audio: tone}
      - {name: yard, source: plasma, bitrate: 1M}
    """

  private static func configuration(_ yaml: String) throws -> ServeConfiguration {
    try ServeConfiguration(yaml: yaml, path: "vidicon.yaml")
  }

  /// The changes from ``start`` to the same text with one replacement.
  private static func changes(replacing text: String, with other: String) throws -> [ConfigurationChanges.Change] {
    try #require(Self.start.contains(text))
    return ConfigurationChanges(
      from: try Self.configuration(Self.start), to: try Self.configuration(Self.start.replacing(text, with: other))
    ).list
  }

  private static func stream(_ text: String) throws -> StreamOptions {
    try StreamOptions(parsing: text, defaults: StreamOptions())
  }

  @Test func `equal files, in other words or another order, change nothing`() throws {
    let other = """
      # a comment
      streams:
        - {name: yard, bitrate: 1000k, source: plasma, scaling: fit}
        - {name: door, source: "bars", audio: tone}
      users: [{password: sesame, name: anna}]
      """
    #expect(
      ConfigurationChanges(from: try Self.configuration(Self.start), to: try Self.configuration(other)).list == [])
  }

  @Test(arguments: [
    ("source: bars, audio: tone", "source: noise, audio: tone", true, false),
    ("source: bars, audio: tone", "source: bars, audio: silence", false, true),
    ("source: bars, audio: tone", "source: noise, audio: silence", true, true),
    // The audio of the new video source.
    ("source: bars, audio: tone", "source: noise", true, true),
  ])
  func `a stream with another source alone is switched`(
    text: String, other: String, video: Bool, audio: Bool
  ) throws {
    let options = try Self.stream("name=door," + other.replacing(": ", with: "=").replacing(", ", with: ","))
    #expect(
      try Self.changes(replacing: text, with: other) == [
        .switched(options, video: video, audio: audio)
      ])
  }

  @Test func `audio stays where it does not depend on the video source`() throws {
    let changes = try Self.changes(replacing: "source: plasma, ", with: "source: bars, audio: auto, ")
    let options = try Self.stream("name=yard,source=bars,bitrate=1M")
    #expect(changes == [.switched(options, video: true, audio: true)])
    let door = try Self.stream("name=door,source=noise,audio=tone")
    #expect(
      try Self.changes(replacing: "source: bars", with: "source: noise") == [.switched(door, video: true, audio: false)]
    )
  }

  @Test(arguments: [
    ("bitrate: 1M", "bitrate: 2M", "yard"), ("bitrate: 1M", "bitrate: 1M, clock: true", "yard"),
    ("bitrate: 1M", "bitrate: 1M, recordings: /tmp", "yard"),
    ("bitrate: 1M", "bitrate: 1M, push: \"rtmp://a.example/live/key\"", "yard"),
    // A source with another setting.
    ("source: plasma, bitrate: 1M", "source: bars, bitrate: 2M", "yard"),
    // The camera is chosen when a stream starts, and a track neither comes nor goes later.
    ("source: bars, audio: tone", "audio: tone", "door"), ("audio: tone", "audio: none", "door"),
    // So is the key of publishers.
    ("source: bars", "source: \"rtsp:\"", "door"), ("source: bars", "source: \"rtsp:?key=0123456789abcdef\"", "door"),
  ])
  func `a stream with other options is started again, alone`(text: String, other: String, name: String) throws {
    let changes = try Self.changes(replacing: text, with: other)
    guard case .restarted(let options)? = changes.first else {
      Issue.record("\(changes.count) changes, the first of which is no restart")
      return
    }
    #expect(changes.count == 1 && options.name == name)
  }

  @Test func `another key of publishers restarts a stream, another source than theirs is switched to`() throws {
    func configuration(_ source: String) throws -> ServeConfiguration {
      try Self.configuration("streams: [{name: door, source: \"\(source)\"}]")
    }
    let first = try configuration("rtmp:?key=0123456789abcdef")
    let other = try configuration("rtmp:?key=fedcba9876543210")
    let key = ConfigurationChanges(from: first, to: other).list
    #expect(key == [.restarted(other.streams[0])])
    let bars = try configuration("bars")
    #expect(
      ConfigurationChanges(from: first, to: bars).list == [
        .switched(bars.streams[0], video: true, audio: true)
      ])
    #expect(first.givenTokens.map(\.secret.text) == ["0123456789abcdef"] && bars.givenTokens == [])
  }

  @Test func `streams end before others begin`() throws {
    let next = try Self.configuration(
      """
      users: [{name: ben, password: secret}]
      streams:
        - {name: roof, source: bars}
        - {name: yard, source: noise, bitrate: 1M}
        - {name: hall, source: bars, fps: 10}
      """)
    var current = try Self.configuration(Self.start)
    current.streams.append(try Self.stream("name=hall,source=bars"))
    let hall = try Self.stream("name=hall,source=bars,fps=10")
    let yard = try Self.stream("name=yard,source=noise,bitrate=1M")
    let roof = try Self.stream("name=roof,source=bars")
    #expect(
      ConfigurationChanges(from: current, to: next).list == [
        .users, .removed("door"), .restarted(hall), .switched(yard, video: true, audio: true), .added(roof),
      ])
  }

  @Test func `a stream whose camera another one gets stops first, unless it leaves the camera before`() throws {
    func configuration(_ front: String, _ back: String, rate: String = "") throws -> ServeConfiguration {
      try Self.configuration(
        """
        streams:
          - {name: front, source: "v4l2:/dev/video\(front)", audio: tone\(rate)}
          - {name: back, source: "v4l2:/dev/video\(back)", audio: tone}
        """)
    }
    let first = try configuration("0", "1?size=640x480")
    func switched(_ options: StreamOptions) -> ConfigurationChanges.Change {
      .switched(options, video: true, audio: false)
    }
    // Exchanged, and moved on; the options of a camera make it no other one.
    for next in [try configuration("1", "0"), try configuration("1?size=320x240", "2")] {
      #expect(
        ConfigurationChanges(from: first, to: next).list == [
          .stopped("back"), switched(next.streams[0]), .restarted(next.streams[1]),
        ])
    }
    let rate = try configuration("1", "0", rate: ", fps: 10")
    #expect(
      ConfigurationChanges(from: first, to: rate).list == [
        .stopped("back"), .restarted(rate.streams[0]), .restarted(rate.streams[1]),
      ])
    // The stream in front leaves its camera before the other one gets that.
    let left = try configuration("2", "0")
    #expect(ConfigurationChanges(from: first, to: left).list == left.streams.map(switched))
    // One that is removed, or that keeps its camera, need not stop.
    let renamed = try Self.configuration("streams: [{name: front, source: \"v4l2:/dev/video1\", audio: tone}]")
    #expect(
      ConfigurationChanges(from: first, to: renamed).list == [.removed("back"), switched(renamed.streams[0])])
  }

  @Test func `streams that exchange microphones, and three their cameras, keep their places`() throws {
    func configuration(_ sources: [String]) throws -> ServeConfiguration {
      let list = zip("abc", sources).map { "  - {name: \($0), \($1)}\n" }.joined()
      return try Self.configuration("streams:\n\(list)")
    }
    func cameras(_ numbers: [Int]) -> [String] { numbers.map { "source: \"v4l2:/dev/video\($0)\", audio: tone" } }
    // Each gets the camera of the next one.
    let next = try configuration(cameras([1, 2, 0]))
    #expect(
      ConfigurationChanges(from: try configuration(cameras([0, 1, 2])), to: next).list == [
        .stopped("b"), .switched(next.streams[0], video: true, audio: false),
        .switched(next.streams[2], video: true, audio: false), .restarted(next.streams[1]),
      ])
    let microphones = ["x", "y"].map { "source: bars, audio: \"mic:\($0)\"" }
    let exchanged = try configuration(microphones.reversed())
    #expect(
      ConfigurationChanges(from: try configuration(microphones), to: exchanged).list == [
        .stopped("b"), .switched(exchanged.streams[0], video: false, audio: true), .restarted(exchanged.streams[1]),
      ])
    // Generated video has no owner.
    let generated = try configuration(["source: bars, audio: tone", "source: plasma, audio: tone"])
    let other = try configuration(["source: plasma, audio: tone", "source: bars, audio: tone"])
    #expect(
      ConfigurationChanges(from: generated, to: other).list
        == other.streams.map { ConfigurationChanges.Change.switched($0, video: true, audio: false) })
  }

  @Test(arguments: [
    ("name: anna, password: sesame", "name: anna, password: secret"),
    ("name: anna, password: sesame", "name: anna, password: sesame, role: operator"),
    ("{name: anna, password: sesame}", "{token: 0123456789abcdef}"),
  ])
  func `users are replaced`(text: String, other: String) throws {
    #expect(try Self.changes(replacing: text, with: other) == [.users])
  }

  @Test func `each setting of the server is named, once it differs`() throws {
    let text = """
      bind: 127.0.0.1
      rtspPort: 0
      rtspUDP: true
      rtspsPort: 8322
      httpPort: 80
      httpsPort: 443
      rtmpPort: 1935
      rtmpsPort: 1936
      webrtc: off
      webrtcPort: 8189
      iceAddresses: [203.0.113.7]
      iceServers: ["stun:stun.example.net"]
      discovery: false
      tlsCertificate: cert.pem
      tlsKey: key.pem
      userFile: /etc/vidicon/users
      control: machine
      recordingsFor: viewers
      files: [/srv/media]
      linkLocal: true
      hosts: cam.example.org
      cors: ["https://site.example"]
      embed: false
      insecureBasic: true
      behindProxy: [127.0.0.1]
      pushAuthorities: ca.pem
      """
    let lines = text.split(separator: "\n").map(String.init)
    let keys = ServeConfiguration.Key.allCases.filter { $0 != .users && $0 != .streams }
    #expect(lines.count == keys.count)
    let current = try Self.configuration(Self.start)
    for (line, key) in zip(lines, keys) {
      try #require(line.hasPrefix("\(key.rawValue):"))
      let next = try Self.configuration("\(line)\n\(Self.start)")
      #expect(ConfigurationChanges(from: current, to: next).list == [.postponedSettings([key])], "\(line)")
    }
    let all = try Self.configuration("\(text)\n\(Self.start)")
    #expect(ConfigurationChanges(from: current, to: all).list == [.postponedSettings(keys)])
    #expect(ConfigurationChanges(from: all, to: all).list == [])
  }

  @Test(arguments: [("rtmp:", PublishedSource.Scheme.rtmp), ("whip:", .whip)])
  func `a source of publishers waits for the next start where their port is not open`(
    source: String, scheme: PublishedSource.Scheme
  ) throws {
    let current = try Self.configuration(Self.start)
    let next = try Self.configuration(Self.start.replacing("source: plasma", with: "source: \"\(source)\""))
    #expect(!current.publishing.contains(scheme) && next.publishing.contains(scheme))
    #expect(
      ConfigurationChanges(from: current, to: next, publishing: current.publishing).list == [
        .postponedStream("yard", cause: "the port for publishers of its source \(source) is opened at the start")
      ])
    let open = ConfigurationChanges(from: current, to: next, publishing: next.publishing).list
    #expect(open.count == 1 && open != ConfigurationChanges(from: current, to: next, publishing: [.rtsp]).list)
  }

  @Test func `standard input is not read again`() throws {
    let cause = "standard input is read once"
    #expect(
      try Self.changes(replacing: "source: plasma", with: "source: \"pipe:\"") == [
        .postponedStream("yard", cause: cause)
      ])
    let current = try Self.configuration("streams: [{name: a, source: \"pipe:\", audio: tone}]")
    let other = try Self.configuration("streams: [{name: a, source: \"pipe:\", audio: tone, fps: 5}]")
    #expect(ConfigurationChanges(from: current, to: other).list == [.postponedStream("a", cause: cause)])
    // Another audio source does not touch it, and another video source ends it.
    for text in ["source: \"pipe:\", audio: silence", "source: bars, audio: tone"] {
      let next = try Self.configuration("streams: [{name: a, \(text)}]")
      guard case .switched? = ConfigurationChanges(from: current, to: next).list.first else {
        Issue.record("\(text): no switch")
        continue
      }
    }
  }
}
