import HTTPServer
import RTSPServer
import Testing
import Vidicon

@Suite("Settings of a server")
struct CameraServerSettingsTests {
  @Test func `by default RTSP and HTTP have their usual ports, and streams are announced`() {
    let settings = CameraServerSettings()
    #expect(settings.rtsp.port == 8554 && settings.http?.port == 8080 && settings.isAnnounced)
    #expect(settings.access.users.isEmpty && settings.rtsp.tls == nil && settings.http?.tls == nil)
  }
}
