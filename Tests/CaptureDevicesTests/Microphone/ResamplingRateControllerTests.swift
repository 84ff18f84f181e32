import Testing

@testable import CaptureDevices

@Suite("Resampling rate controller")
struct ResamplingRateControllerTests {
  /// The deviation after updates with constant input, once per second.
  private func deviation(drift: Double, error: Double, seconds: Int) -> Double {
    var controller = ResamplingRateController()
    for _ in 0..<seconds { controller.update(drift: drift, error: error, elapsed: 1) }
    return controller.deviation
  }

  @Test func `the deviation approaches the drift at the maximum slew`() {
    #expect(abs(self.deviation(drift: 0.001, error: 0, seconds: 1) - 0.000_2) < 1e-12)
    #expect(abs(self.deviation(drift: 0.001, error: 0, seconds: 3) - 0.000_6) < 1e-12)
    #expect(abs(self.deviation(drift: 0.001, error: 0, seconds: 10) - 0.001) < 1e-12)
    #expect(abs(self.deviation(drift: -0.001, error: 0, seconds: 10) + 0.001) < 1e-12)
  }

  @Test func `an offset is corrected in proportion, up to a maximum`() {
    #expect(abs(self.deviation(drift: 0, error: 0.001, seconds: 10) - 0.000_1) < 1e-12)
    #expect(abs(self.deviation(drift: 0, error: 10, seconds: 100) - 0.000_5) < 1e-12)
    #expect(abs(self.deviation(drift: 0, error: -10, seconds: 100) + 0.000_5) < 1e-12)
  }

  @Test func `the deviation is limited to half a percent`() {
    #expect(abs(self.deviation(drift: 0.02, error: 1, seconds: 1_000) - 0.005) < 1e-12)
    #expect(abs(self.deviation(drift: -0.02, error: -1, seconds: 1_000) + 0.005) < 1e-12)
  }

  @Test func `no time or negative time changes nothing`() {
    var controller = ResamplingRateController()
    controller.update(drift: 0.001, error: 0.01, elapsed: 0)
    controller.update(drift: 0.001, error: 0.01, elapsed: -5)
    #expect(controller.deviation == 0)
  }
}
