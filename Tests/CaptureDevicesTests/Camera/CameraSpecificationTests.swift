import Capture
import Media
import StreamControl
import Testing

@testable import CaptureDevices

@Suite("Camera specification")
struct CameraSpecificationTests {
  @Test(arguments: [
    ("", CameraSpecification()),
    ("/dev/video0", CameraSpecification(device: .path("/dev/video0"))),
    ("HD Pro Webcam", CameraSpecification(device: .name("HD Pro Webcam"))),
    ("?size=1280x720", CameraSpecification(width: 1280, height: 720)),
    ("?", CameraSpecification()),
    (
      "/dev/video2?size=640x480&fps=15&format=MJPEG&input=1",
      CameraSpecification(
        device: .path("/dev/video2"), width: 640, height: 480, frameRate: 15, format: "mjpeg", input: 1)
    ),
    ("?fps=29.97", CameraSpecification(frameRate: FrameRate(30_000, over: 1001))),
    ("?fps=0.5", CameraSpecification(frameRate: FrameRate(500, over: 1000))),
    ("?fps=30000/1001", CameraSpecification(frameRate: FrameRate(30_000, over: 1001))),
    ("?format=YU12", CameraSpecification(format: "yu12")),
    ("Kamera mit Ü?input=63", CameraSpecification(device: .name("Kamera mit Ü"), input: 63)),
  ]) func `a valid specification is parsed`(text: String, specification: CameraSpecification) throws {
    #expect(try CameraSpecification(parsing: text) == specification)
    #expect(try SourceSpecification(video: "v4l2:\(text)").video == .camera(specification))
    #expect(try SourceSpecification(video: "\(specification)").video == .camera(specification))
  }

  @Test(arguments: [
    "?size=", "?size=1280", "?size=0x0", "?size=-1x-1", "?size=1x1x1", "?size=99999x1", "?size=99999999999999999999x1",
    "?size=１x１", "?fps=0", "?fps=-1", "?fps=0.0", "?fps=1001", "?fps=1/0", "?fps=0/1", "?fps=1.2345", "?fps=1/2/3",
    "?fps=nan", "?fps=99999999999999999999", "?format=", "?format=abcdef", "?format=a b", "?input=64", "?input=-1",
    "?input=", "?colour=1", "?Size=1x1", "?=", "?=1", "?fps=1&fps=2", "a\0b", "?size=1x1?fps=1",
    String(repeating: "a", count: 256),
  ]) func `an invalid specification is an error of one short line`(text: String) {
    let error = #expect(throws: VidiconError.self) { try CameraSpecification(parsing: text) }
    #expect(error?.code == .invalidSpecification)
    #expect((error?.description.utf8.count ?? 0) < 600)
  }

  @Test func `the error for an unknown option lists the options`() {
    let error = #expect(throws: VidiconError.self) { try CameraSpecification(parsing: "?colour=1") }
    #expect(error?.nextStep == "use size, fps, format or input")
  }

  @Test func `a format is selected by name or FourCC`() {
    #expect(CameraSpecification(format: "mjpeg").accepts(.jpeg))
    #expect(CameraSpecification(format: "nv12").accepts(.nv12InTwo))
    #expect(CameraSpecification(format: "y16").accepts(FourCC("Y16 ")))
    #expect(CameraSpecification(format: "h264").accepts(.h264))
    #expect(!CameraSpecification(format: "h264").accepts(.mjpeg))
    #expect(CameraSpecification().accepts(FourCC("????")))
  }
}
