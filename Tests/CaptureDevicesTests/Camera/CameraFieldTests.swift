import Codecs
import Testing

@testable import CaptureDevices

@Suite("Fields of V4L2 frames")
struct CameraFieldTests {
  @Test(
    arguments: [
      (0, 480, nil), (1, 576, nil), (4, 576, .topFirst), (4, 480, .bottomFirst), (4, 486, .bottomFirst),
      (4, 1080, .topFirst), (8, 480, .topFirst), (9, 576, .bottomFirst),
    ] as [(UInt32, UInt32, FieldOrder?)])
  func `the first field is that of the driver, or of the video standard`(
    value: UInt32, height: UInt32, order: FieldOrder?
  ) {
    let field = CameraField(value, height: height)
    #expect(field.hasWholeFrames && field.order == order)
  }

  @Test func `single fields are no frames`() {
    for value in [2, 3, 5, 6, 7, 99] as [UInt32] {
      #expect(!CameraField(value, height: 576).hasWholeFrames && CameraField(value, height: 576).order == nil)
    }
  }
}
