import StreamControl

#if os(Linux)
@testable import CaptureDevices
import ALSATestDevice
import Testing

@testable import Capture

@Suite("List of microphones")
struct MicrophoneDevicesTests {
  @Test func `the default and configured devices are listed once, silence and converters are not`() throws {
    vidicon_alsa_test_device()
    let devices = MicrophoneDevices.devices()
    #expect(devices.allSatisfy { $0.kind == .microphone && $0.controls.isEmpty })
    let specifications = devices.map(\.specification)
    #expect(Set(specifications).count == specifications.count)
    #expect(!specifications.contains("mic:null"))
    let listed = try #require(devices.first { $0.specification == "mic:listed" })
    #expect(listed.name == "A microphone of the tests")
    #expect(listed.formats == [CaptureDeviceFormat(name: "S16_LE", sampleRate: 44_100, channels: 2)])
    #expect(listed.problem == nil)
    for specification in specifications {
      #expect(try SourceSpecification.Audio(parsing: specification) != .none)
    }
  }
}
#endif
