import ArgumentParser
import Authentication
import Capture
import Foundation
import Media
import MediaInput
import StreamControl
import Streaming
import Testing
import Vidicon

@testable import VidiconCommand

@Suite("Settings that publishers enter, and ports for them")
struct PublisherSettingsTests {
  private static let addresses = StreamAddresses(
    path: "/studio", hosts: ["10.0.0.5"], ports: .init(rtsp: 8554, http: 8080, https: 8443, rtmp: 1935, webRTC: 8189))

  private static func text(_ scheme: PublishedSource.Scheme, isGenerated: Bool, isTerminal: Bool) throws -> String {
    let access = PublisherAccess(
      stream: "studio", scheme: scheme, key: Secret("k3y-k3y-k3y-k3y-k3y"), isGenerated: isGenerated)
    return access.text(server: try #require(Self.addresses.publishServer(scheme)), isTerminal: isTerminal)
  }

  @Test func `OBS gets its server and stream key, as two values to enter`() throws {
    let shown = try Self.text(.rtmp, isGenerated: true, isTerminal: true)
    #expect(shown == "server rtmp://10.0.0.5:1935/studio   stream key k3y-k3y-k3y-k3y-k3y")
  }

  @Test func `RTSP publishers get one address`() throws {
    let shown = try Self.text(.rtsp, isGenerated: true, isTerminal: true)
    #expect(shown == "ffmpeg … -f rtsp rtsp://10.0.0.5:8554/studio?key=k3y-k3y-k3y-k3y-k3y")
  }

  @Test func `WHIP publishers get the encrypted address and the token, as two values to enter`() throws {
    let shown = try Self.text(.whip, isGenerated: true, isTerminal: true)
    #expect(shown == "WHIP https://10.0.0.5:8443/studio/whip   token k3y-k3y-k3y-k3y-k3y")
  }

  @Test func `a phone gets the encrypted page, with the token in the fragment`() {
    func page(_ scheme: PublishedSource.Scheme, _ addresses: StreamAddresses) -> String? {
      PublisherAccess(stream: "studio", scheme: scheme, key: Secret("k3y-k3y-k3y-k3y-k3y"), isGenerated: true).page(
        of: addresses)
    }
    #expect(page(.whip, Self.addresses) == "https://10.0.0.5:8443/studio/publish#k3y-k3y-k3y-k3y-k3y")
    #expect(page(.rtmp, Self.addresses) == nil)
    let plain = StreamAddresses(
      path: "/studio", hosts: ["10.0.0.5"], ports: .init(rtsp: 8554, http: 8080, webRTC: 8189))
    #expect(page(.whip, plain) == nil)
  }

  @Test(arguments: PublishedSource.Scheme.allCases, [true, false])
  func `what is not a terminal gets no key, but where it comes from`(
    scheme: PublishedSource.Scheme, isGenerated: Bool
  ) throws {
    let text = try Self.text(scheme, isGenerated: isGenerated, isTerminal: false)
    #expect(!text.contains("k3y") && text.contains("10.0.0.5"))
    let example = scheme == .whip ? "whip:?token=TOKEN" : "\(scheme.sourceName)?key=KEY"
    #expect(text.contains(isGenerated ? example : "that of --source"), "\(text)")
  }

  @Test(arguments: PublishedSource.Scheme.allCases)
  func `the log has the addresses of a stream, and how a publisher sends it, without the key`(
    scheme: PublishedSource.Scheme
  ) throws {
    let publisher = PublisherAccess(
      stream: "studio", scheme: scheme, key: Secret("k3y-k3y-k3y-k3y-k3y"), isGenerated: true)
    let server = try #require(Self.addresses.publishServer(scheme))
    let event = LogEvent(
      startOf: "studio", source: "bars", audio: nil, addresses: Self.addresses, choice: nil, publisher: publisher)
    let values = Dictionary(event.fields.map { ($0.key, $0.value) }) { first, _ in first }
    #expect(values["publish"] == server && values["source"] == "bars")
    #expect(values["rtmp"] == Self.addresses.rtmp.first && values["whep"] == Self.addresses.whep.first)
    #expect(event.message == "publish: \(publisher.text(server: server, isTerminal: false))")
    #expect(event.hasItsKeys && !"\(event)".contains("k3y"))
    let plain = LogEvent(
      startOf: "studio", source: "bars", audio: nil, addresses: Self.addresses, choice: nil, publisher: nil)
    #expect(plain.message == nil && !plain.fields.contains { $0.key == "publish" })
  }

  @Test func `a server without the port of a protocol has no address for its publishers`() {
    let addresses = StreamAddresses(path: "/studio", hosts: ["10.0.0.5"], ports: .init(rtsp: 8554))
    #expect(addresses.publishServer(.rtmp) == nil && addresses.publishServer(.rtsp) != nil)
    #expect(addresses.publishServer(.whip) == nil)
  }

  private static func configuration(_ arguments: [String]) throws -> ServeConfiguration {
    try ServeConfiguration(ServeCommand.parse(arguments))
  }

  @Test func `HTTPS is on for a source whip: at 8443, unless another port is given`() throws {
    #expect(try Self.configuration(["--source", "bars"]).openHTTPSPort == nil)
    #expect(try Self.configuration(["--source", "whip:"]).openHTTPSPort == 8443)
    #expect(try Self.configuration(["--source", "whip:", "--https-port", "0"]).openHTTPSPort == 0)
    let several = ["--stream", "name=a,source=bars", "--stream", "name=b,source=whip:"]
    #expect(try Self.configuration(several).openHTTPSPort == 8443)
    let settings = CameraServerSettings(try Self.configuration(["--source", "whip:", "--rtmps-port", "1936"]))
    #expect(settings.http?.tls?.port == 8443 && settings.rtmp?.tls?.port == 1936 && settings.webRTC != nil)
  }

  @Test func `the token of whip: is that of its source, of --whip-token or of a file`() throws {
    let token = "0123456789abcdef"
    let file = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID().uuidString)")
    try "\(token)\nsecond line\n".write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    for arguments in [
      ["--source", "whip:?token=\(token)"], ["--source", "whip:", "--whip-token", token],
      ["--source", "whip:", "--whip-token", "@\(file.path)"],
      ["--stream", "name=live,source=whip:,whipToken=\(token)"],
    ] {
      let configuration = try Self.configuration(arguments)
      #expect(configuration.streams.map(\.source) == ["whip:"], "\(arguments)")
      #expect(configuration.streams.map { $0.publishToken?.secret } == [Secret(token)], "\(arguments)")
      #expect(
        CameraServerSettings(configuration).access.tokens.map(\.role) == [.publisher(stream: "live")], "\(arguments)")
    }
    #expect(try Self.configuration(["--source", "whip:"]).streams[0].publishToken == nil)
    let yaml = try ServeConfiguration(
      yaml: "streams:\n  - name: live\n    source: 'whip:'\n    whipToken: \(token)\n", path: "c.yaml")
    #expect(yaml.streams.map { $0.publishToken?.secret } == [Secret(token)])
  }

  @Test(
    arguments: [
      (["--source", "bars", "--whip-token", "0123456789abcdef"], "no stream has the source whip:"),
      (["--source", "whip:", "--whip-token", "0123456789"], "the token cannot be used"),
      (["--source", "whip:", "--whip-token", "@/none/token"], "no such file"),
      (["--source", "whip:?token=0123456789abcdef", "--whip-token", "0123456789abcdeg"], "has a token already"),
      (["--source", "whip:", "--webrtc", "off"], "WebRTC, which is off"),
      (["--source", "whip:?key=0123456789abcdef"], "its token is not usable as a token"),
      (["--source", "whip:", "--rtsp-port", "8443"], "it is 8443, as --rtsp-port is"),
      (
        [
          "--whip-token", "0123456789abcdef", "--stream", "name=a,source=whip:", "--stream", "name=b,source=whip:",
        ], "two streams have the same token"
      ),
    ] as [([String], String)])
  func `a publisher that could not send is an error, which quotes no token`(
    arguments: [String], cause: String
  ) throws {
    let error = #expect(throws: VidiconError.self) { try Self.configuration(arguments) }
    #expect(error?.description.contains(cause) == true, "\(String(describing: error))")
    #expect(error?.description.contains("0123456789") == false)
  }

  @Test func `whip: is decoded unless it is to pass through, and its slate says that it waits`() throws {
    let streams = try Self.configuration(["--source", "whip:", "--pass-through", "on"]).streams
    #expect(streams[0].passThrough == .on && streams[0].publishScheme == .whip)
    #expect(streams[0].video.slateText == "WAITING FOR A CAMERA")
    #expect(try Self.configuration(["--source", "rtmp:"]).streams[0].video.slateText == "NO SIGNAL")
    let sources = try streams[0].openSources(loop: true, connection: .needed)
    #expect(PublishedSource.input(of: sources.video, over: .whip) != nil && sources.audio != nil)
    #expect(sources.video.format.width == 1280 && sources.video.format.height == 720)
  }

  /// Ports of RTMP that options open; nil where it is off.
  private static func ports(_ arguments: String...) throws -> [Int?]? {
    let configuration = try ServeConfiguration(ServeCommand.parse(arguments))
    return CameraServerSettings(configuration).rtmp.map { [$0.port, $0.tls?.port] }
  }

  @Test func `RTMP is off, on for a source rtmp: at 1935, also beside the encrypted port`() throws {
    #expect(try Self.ports("--source", "bars") == nil)
    #expect(try Self.ports("--source", "rtsp:") == nil)
    #expect(try Self.ports("--source", "rtmp:") == [1935, nil])
    #expect(try Self.ports("--source", "rtmp:", "--rtmp-port", "1940") == [1940, nil])
    #expect(try Self.ports("--source", "rtmp:", "--rtmps-port", "1936", "--https-port", "8443") == [1935, 1936])
    #expect(try Self.ports("--source", "bars", "--rtmps-port", "1936", "--https-port", "8443") == [nil, 1936])
    #expect(try Self.ports("--source", "bars", "--rtmp-port", "1935") == [1935, nil])
  }
}
