import CaptureDevices
import Testing

@Suite("List of cameras")
struct CameraDevicesTests {
  @Test func `cameras are listed with formats, controls and problems`() throws {
    let nextStep = CurrentUser.nextStep(joining: "video")
    let lines = try CameraProbe.devices(cameras: [
      "card=Webcam;controls=1;formats=YUYV 640x480,320x240 30,15|MJPG 1280x720 30", "path=/dev/video1;kind=metadata",
      "path=/dev/video2;open=13", "path=/dev/video63;card=Stepwise;formats=NV12 320-1280/16x240-720/8 1-60;planes=1",
    ]).map(\.description)
    #expect(
      lines.filter { !$0.hasPrefix("control") } == [
        #"device v4l2:/dev/video0 front "Webcam" "Webcam (usb-0000:00:14.0-1)" """#,
        "offers YUYV 640x480 30,15", "offers YUYV 320x240 30,15", "offers MJPG 1280x720 30",
        #"device v4l2:/dev/video2 unspecified "\/dev\/video2" "\/dev\/video2" "#
          + #""you may not open \/dev\/video2; \#(nextStep)""#,
        #"device v4l2:/dev/video63 unspecified "Stepwise" "Stepwise (usb-0000:00:14.0-4)" """#,
        "offers NV12 1280x720 1-60", "offers NV12 320x240 1-60", "offers NV12 640x480 1-60",
      ])
    #expect(lines.count { $0.hasPrefix("control ") } == 6)
  }

  /// Number of calls after which the camera vanishes, and number of its entries: none while it is still being queried.
  @Test(arguments: [(1, 0), (2, 0), (3, 0), (5, 0), (8, 0), (13, 0), (21, 0), (34, 0), (144, 1)])
  func `other cameras are listed while one vanishes`(calls: Int, count: Int) throws {
    let lines = try CameraProbe.devices(cameras: [
      "vanish=\(calls);controls=1;formats=YUYV 640x480,320x240 30,15|MJPG 1280x720 30",
      "path=/dev/video1;card=Other;formats=YUYV 320x240 30;controls=1",
    ])
    let other = try #require(lines.firstIndex { $0.name == "device" && $0.words[0] == "v4l2:/dev/video1" })
    let rest = lines[other...]
    #expect(rest.map(\.name) == ["device", "offers"] + Array(repeating: "control", count: 6))
    #expect(rest.first?.words.last == #""""#)
    #expect(lines[..<other].count { $0.name == "device" } == count)
  }

  @Test func `other cameras are listed when one does not respond, which is its problem`() throws {
    let lines = try CameraProbe.devices(cameras: [
      "deaf=3600;formats=YUYV 640x480 30", "path=/dev/video1;card=Other;formats=YUYV 320x240 30",
    ])
    #expect(
      lines.map(\.description) == [
        #"device v4l2:/dev/video0 unspecified "\/dev\/video0" "\/dev\/video0" "it does not respond; unplug it and plug it in again""#,
        #"device v4l2:/dev/video1 unspecified "Other" "Other (usb-0000:00:14.0-2)" """#, "offers YUYV 320x240 30",
      ])
  }

  @Test func `devices that are not cameras are not listed`() throws {
    #expect(try CameraProbe.devices(cameras: ["kind=m2m", "kind=none"]) == [])
  }

  @Test func `a camera with endless enumerations is listed`() throws {
    #expect(try CameraProbe.devices(cameras: ["endless=1;controls=1"]).contains { $0.name == "device" })
  }
}
