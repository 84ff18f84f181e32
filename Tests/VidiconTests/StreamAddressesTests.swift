import Testing

@testable import Vidicon

@Suite("Addresses of a stream")
struct StreamAddressesTests {
  @Test func `each open port has an address for each host, the encrypted ones last`() {
    let all = StreamAddresses(
      path: "/a%20b", hosts: ["10.0.0.5", "[fd00::1]"],
      ports: .init(rtsp: 8554, rtsps: 8322, http: 8080, https: 8443, rtmp: 1935, rtmps: 1936))
    #expect(
      all.rtsp == [
        "rtsp://10.0.0.5:8554/a%20b", "rtsp://[fd00::1]:8554/a%20b", "rtsps://10.0.0.5:8322/a%20b",
        "rtsps://[fd00::1]:8322/a%20b",
      ])
    #expect(
      all.rtmp == [
        "rtmp://10.0.0.5:1935/live/a%20b", "rtmp://[fd00::1]:1935/live/a%20b", "rtmps://10.0.0.5:1936/live/a%20b",
        "rtmps://[fd00::1]:1936/live/a%20b",
      ])
    #expect(
      all.page == [
        "http://10.0.0.5:8080/a%20b", "http://[fd00::1]:8080/a%20b", "https://10.0.0.5:8443/a%20b",
        "https://[fd00::1]:8443/a%20b",
      ])
    #expect(all.whip == [], "WebRTC is off")
    let plain = StreamAddresses(path: "/a", hosts: ["h"], ports: .init(rtsp: 1))
    #expect(plain.rtsp == ["rtsp://h:1/a"] && plain.page == [] && plain.rtmp == [])
    let webRTC = StreamAddresses(path: "/a", hosts: ["h"], ports: .init(rtsp: 1, http: 2, https: 3, webRTC: 4))
    #expect(webRTC.whip == ["https://h:3/a/whip", "http://h:2/a/whip"])
    #expect(webRTC.whep == ["http://h:2/a/whep", "https://h:3/a/whep"])
    #expect(StreamAddresses(path: "/a", hosts: [], ports: .init(rtsp: 1, http: 2)).page == [])
  }
}
