import ArgumentParser
import Authentication
import Foundation
import HTTPServer
import Media
import Streaming
import Testing

@testable import VidiconCommand

@Suite("Configuration file")
struct ServeConfigurationTests {
  private func configuration(_ yaml: String) throws -> ServeConfiguration {
    try ServeConfiguration(yaml: yaml, path: "vidicon.yaml")
  }

  @Test(arguments: [
    "{name: a, rendition: {name: low, size: 640x360, bitrate: 450k}}",
    "{name: a, rendition: [\"name=low,size=640x360,bitrate=450k\"]}",
    "\n    name: a\n    rendition:\n      - name: low\n        size: 640x360\n        bitrate: 450k",
  ])
  func `renditions are a list in the file`(stream: String) throws {
    let low = RenditionSettings(name: "low", width: 640, height: 360, bitrate: 450_000)
    #expect(try self.configuration("streams:\n  - \(stream)").streams[0].renditions == .list([low]))
  }

  @Test func `a rendition to record is one of the stream's`() throws {
    let record = ["--record", "x.mp4", "--record-rendition"]
    for (options, name) in [
      (["--rendition", "name=b,size=640x360,bitrate=450k"], "low"), (["--rendition", "none"], "low"), ([], "high"),
    ] {
      #expect {
        _ = try ServeConfiguration(ServeCommand.parse(record + [name] + options))
      } throws: { error in
        (error as? VidiconError)?.description.contains("choose one of: main") == true
      }
    }
    let low = try ServeConfiguration(ServeCommand.parse(record + ["low"]))
    #expect(low.streams[0].recording.rendition == "low")
    #expect(try ServeConfiguration(ServeCommand.parse(record + ["main"])).streams[0].recording.rendition == "main")
    #expect(
      try self.configuration("streams:\n  - {name: a, record: x.mp4, recordRendition: low}").streams[0].recording
        .rendition == "low")
  }

  @Test func `a rendition and a stream of the same path are refused`() throws {
    #expect {
      _ = try ServeConfiguration(
        ServeCommand.parse([
          "--stream", "name=a,rendition=name=b,,size=640x360,,bitrate=450k", "--stream", "name=a/b",
        ]))
    } throws: { error in
      (error as? VidiconError)?.description.contains("rendition of \"a\"") == true
    }
    let options = ["--rendition", "name=b,size=640x360,bitrate=450k", "--rendition", "name=c,size=320x180,bitrate=90k"]
    let configuration = try ServeConfiguration(ServeCommand.parse(options))
    #expect(configuration.streams[0].renditions.paths(of: "live") == ["live/main", "live/b", "live/c"])
    #expect(RenditionChoice.list([]).paths(of: "live") == ["live/main"])
  }

  @Test(
    arguments: [("auto", .auto), ("\"on\"", .on), ("on", .on), ("off", .off)] as [(String, VideoSettings.PassThrough)])
  func `passing through is a word of the file, or of the command line`(
    text: String, mode: VideoSettings.PassThrough
  ) throws {
    let file = try self.configuration("streams:\n  - {name: a, passThrough: \(text)}")
    #expect(file.streams[0].passThrough == mode)
    let word = text.filter { $0 != "\"" }
    let options = try ServeConfiguration(ServeCommand.parse(["--pass-through", word]))
    #expect(options.streams[0].passThrough == mode)
    #expect(throws: (any Error).self) { try self.configuration("streams:\n  - {name: a, passThrough: maybe}") }
    #expect(throws: (any Error).self) { try ServeConfiguration(ServeCommand.parse(["--pass-through", "maybe"])) }
  }

  @Test func `settings are read from a pipe, also with a byte order mark`() throws {
    for text in ["streams:\n  - {name: piped}\n", "\u{FEFF}streams:\n  - {name: piped}\n"] {
      let pipe = Pipe()
      try pipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
      try pipe.fileHandleForWriting.close()
      let path = "/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)"
      #expect(try ServeConfiguration(contentsOf: path).streams.map(\.name) == ["piped"])
    }
    let servers = Pipe()
    try servers.fileHandleForWriting.write(contentsOf: Data("# ours\nstun:stun.example.net\n".utf8))
    try servers.fileHandleForWriting.close()
    let file = "@/dev/fd/\(servers.fileHandleForReading.fileDescriptor)"
    #expect(try ServeConfiguration.iceServers([file], named: "iceServers").map { "\($0)" } == ["stun:stun.example.net"])
  }

  @Test(
    arguments: [
      ("/dev/zero", "it cannot be read as UTF-8 text of at most 1 MiB; check the path of --config"),
      ("/dev", "it cannot be read as UTF-8 text of at most 1 MiB; check the path of --config"),
      ("/nowhere/a.yaml", "there is no such file; check the path of --config"),
    ])
  func `a file that cannot be read as text is refused`(path: String, message: String) throws {
    let error = #expect(throws: VidiconError.self) { try ServeConfiguration(contentsOf: path) }
    #expect(error.map { "\($0)".contains(message) } == true, "\(String(describing: error))")
  }

  @Test func `every key is read`() throws {
    let configuration = try self.configuration(
      """
      bind: 127.0.0.1
      rtspPort: 0
      rtspUDP: true
      rtspsPort: 8322
      rtmpPort: 1935
      rtmpsPort: 1936
      webrtcPort: 8189
      webrtc: true
      iceAddresses: [203.0.113.7]
      iceServers: ["stun:stun.example.net", "turn:us:pw@turn.example.net"]
      httpPort: 80
      httpsPort: 443
      discovery: false
      control: machine
      behindProxy: [127.0.0.1, "::1"]
      recordingsFor: viewers
      hosts: cam.example.org
      cors: ["https://site.example"]
      embed: false
      insecureBasic: true
      userFile: /etc/vidicon/users
      files: [/srv/media]
      linkLocal: true
      tlsCertificate: cert.pem
      tlsKey: key.pem
      users:
        - {name: joe, password: "1:2"}
      streams:
        - name: door
          source: bars
          audio: none
          size: 640x360
          fps: 15
          bitrate: 500k
          scaling: fill
          encoder: h264_vaapi
          audioBitrate: 48k
        - name: yard
      """)
    #expect(configuration.bind == "127.0.0.1" && configuration.rtspPort == 0 && configuration.rtspUDP)
    #expect(configuration.rtmpPort == 1935 && configuration.rtmpsPort == 1936)
    #expect(configuration.webRTCPort == 8189 && configuration.iceAddresses == ["203.0.113.7"])
    #expect(configuration.iceServers.map { "\($0)" } == ["stun:stun.example.net", "turn:turn.example.net"])
    #expect(configuration.isWebRTCOn)
    #expect(configuration.rtspsPort == 8322 && configuration.tlsCertificate == "cert.pem")
    #expect(configuration.httpPort == 80 && configuration.httpsPort == 443 && !configuration.isAnnounced)
    let access = configuration.access
    #expect(access.control == .machine && access.proxies == ["127.0.0.1", "::1"] && access.recordings == .viewers)
    #expect(access.hosts == ["cam.example.org"] && access.corsOrigins == ["https://site.example"])
    #expect(!access.allowsEmbedding && access.allowsInsecureBasic)
    #expect(configuration.userFile == "/etc/vidicon/users" && configuration.fileFolders == ["/srv/media"])
    #expect(configuration.allowsLinkLocal)
    #expect(access.users == [Credentials(user: "joe", password: "1:2")])
    #expect(configuration.streams.map(\.name) == ["door", "yard"])
    #expect(configuration.streams[0].frameRate == FrameRate(15) && configuration.streams[0].bitrate == 500_000)
    #expect(configuration.streams[1].source == nil)
  }

  @Test(arguments: [([], 1000), (["--vbv", "0.25"], 250), (["--vbv", "2"], 2000)] as [([String], Int64)])
  func `encoders have the same settings with WebRTC on and off`(options: [String], length: Int64) throws {
    let all = try ([[], ["--webrtc", "on"], ["--webrtc", "off"]] as [[String]]).map { webRTC in
      let streams = try ServeConfiguration(ServeCommand.parse(["--source", "bars"] + options + webRTC)).streams
      return try #require(streams.first).video
    }
    #expect(all.allSatisfy { $0.rateBuffer == .milliseconds(length) && $0.profile == nil })
    #expect(Set(all).count == 1)
  }

  @Test(arguments: [("on", true), ("true", true), ("off", false), ("false", false)])
  func `WebRTC is on or off, or true or false, on either side`(text: String, isOn: Bool) throws {
    #expect(try self.configuration("webrtc: \(text)").isWebRTCOn == isOn)
    #expect(try ServeConfiguration(ServeCommand.parse(["--webrtc", text])).isWebRTCOn == isOn)
  }

  @Test(arguments: [
    ("", "empty"),
    ("[1, 2]", "expected keys and values"),
    ("colour: red", "unknown key \"colour\""),
    ("streams:\n  - {name: a, colour: red}", "unknown key \"colour\""),
    ("rtspPort: abc", "vidicon.yaml:1:11: rtspPort: \"abc\" is not a port; give 1 to 65535"),
    ("rtspPort: 70000", "vidicon.yaml:1:11: rtspPort: 70000 is not a port"),
    ("rtspUDP: 1", "vidicon.yaml:1:10: rtspUDP: \"1\": it is neither true nor false"),
    ("bind: [127.0.0.1]", "vidicon.yaml:1:7: expected a single value"),
    ("hosts: [{a: b}]", "vidicon.yaml:1:9: expected a single value"),
    ("webrtc: no", "vidicon.yaml:1:9: webrtc: \"no\" is neither on nor off; give on or off"),
    ("iceServers: [\"stun:\"]", "vidicon.yaml:1:13: an ICE server: "),
    ("streams: a", "expected a list"),
    ("control: some", "control: \"some\" is not a setting of it; give operators, machine, all or none"),
    ("streams:\n  - {name: a, size: [1, 2]}", "expected a single value"),
    ("streams:\n  - {name: a, size: 3x3}", "vidicon.yaml:2:21: \"3x3\": it is not a size"),
    ("users: [{name: joe}]", "has no password"),
    ("users: [{password: x}]", "needs a name"),
    ("a: [", "not YAML"),
  ])
  func `an error contains file, line and column, and has exit status 64`(yaml: String, message: String) {
    #expect {
      _ = try self.configuration(yaml)
    } throws: { error in
      guard let failure = error as? VidiconError else { return false }
      return failure.exitStatus == 64 && failure.description.hasPrefix("vidicon.yaml")
        && failure.description.contains(message)
    }
  }

  @Test(arguments: [
    "users: [{name: anna, password: sesame", "users:\n  - name: anna\n   password: sesame\n", "users: [{anna:sesame}]",
    "users: [{\"anna:sesame\": x}]", "users: [{name: anna, password: \"sesame}]",
    "users: [{name: anna, password: @sesame}]",
    "users: [{name: anna, pass word: sesame}]", "users: anna:sesame", "users: [anna:sesame]",
    "users: [{name: anna, password: sesame, role: boss}]", "users: [{name: \"anna:sesame\", password: x}]",
    "iceServers: [\"turn:anna:sesame\"]", "rtspPort: anna:sesame", "webrtc: anna:sesame", "embed: anna:sesame",
    "control: anna:sesame",
    "users: [{token: sesame}]", "users: [{name: anna, password: [sesame]}]", "users:\n\t- sesame",
    "streams: [{name: a, source: \"rtsp://anna:sesame@h\", fps: x}]", "streams: [\"rtsp://anna:sesame@h\"]",
  ])
  func `an error of a file does not quote what may be a password`(yaml: String) {
    #expect {
      _ = try self.configuration(yaml)
    } throws: { error in
      guard let failure = error as? VidiconError else { return false }
      return failure.exitStatus == 64 && failure.description.hasPrefix("vidicon.yaml")
        && !failure.description.contains("sesame")
    }
  }
}
