import ArgumentParser
import Foundation
import TestSupport
import Testing
import Vidicon

@testable import VidiconCommand

@Suite("Ports that are given, and default ones")
struct PortSettingsTests {
  private static func settings(_ arguments: String...) throws -> CameraServerSettings {
    CameraServerSettings(try ServeConfiguration(ServeCommand.parse(arguments)))
  }

  @Test func `a default port has the next ones and any free one as alternatives`() throws {
    let settings = try Self.settings("--stream", "name=a,source=whip:", "--stream", "name=b,source=rtmp:")
    let http = try #require(settings.http)
    let (tls, rtmp, webRTC) = (try #require(http.tls), try #require(settings.rtmp), try #require(settings.webRTC))
    let ports: [Int] = [settings.rtsp.port, http.port, tls.port, rtmp.port ?? 0, webRTC.port]
    #expect(ports == [8554, 8080, 8443, 1935, 8189])
    #expect(settings.rtsp.alternativePorts == [8555, 8556, 8557, 8558, 8559, 8560, 8561, 8562, 0])
    for (port, alternatives) in [
      (http.port, http.alternativePorts), (tls.port, tls.alternativePorts), (rtmp.port ?? 0, rtmp.alternativePorts),
      (webRTC.port, webRTC.alternativePorts),
    ] {
      let nearby: [Int] = Array(port + 1...port + 8)
      #expect(alternatives == nearby + [0])
    }
    #expect(!webRTC.isRequired)
  }

  @Test func `a port that is given has no alternatives, also where it is the default one`() throws {
    let settings = try Self.settings(
      "--source", "rtmp:", "--rtsp-port", "8554", "--http-port", "8080", "--https-port", "8443", "--rtmp-port", "1935",
      "--webrtc-port", "8189")
    let (rtmp, webRTC) = (try #require(settings.rtmp), try #require(settings.webRTC))
    let http = try #require(settings.http)
    #expect(settings.rtsp.alternativePorts.isEmpty && rtmp.alternativePorts.isEmpty)
    #expect(http.alternativePorts.isEmpty && http.tls?.alternativePorts.isEmpty == true)
    #expect(webRTC.alternativePorts.isEmpty && webRTC.isRequired)
  }

  @Test func `a port of the configuration file is given`() throws {
    let file = try TemporaryFolder()
    defer { withExtendedLifetime(file) {} }
    let path = "\(file.path)/vidicon.yaml"
    try "rtspPort: 8554\n".write(toFile: path, atomically: true, encoding: .utf8)
    let settings = try Self.settings("--config", path)
    #expect(settings.rtsp.alternativePorts.isEmpty && settings.http?.alternativePorts.isEmpty == false)
  }

  @Test func `an alternative is no port that is given to another protocol`() throws {
    let settings = try Self.settings("--http-port", "8555", "--webrtc-port", "8557")
    #expect(settings.rtsp.alternativePorts == [8556, 8558, 8559, 8560, 8561, 8562, 0])
    // Nor is the port itself.
    let rtmp = try #require(try Self.settings("--source", "rtmp:", "--https-port", "8443", "--rtmps-port", "1935").rtmp)
    #expect(rtmp.port == 1936 && rtmp.alternativePorts.first == 1937)
  }
}
