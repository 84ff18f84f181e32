internal import CV4L2
internal import Capture
internal import CaptureDevices
internal import Media
internal import NIOCore

/// Checks of the sizes, frame intervals and pixel formats that a camera's driver takes from the USB descriptors.
struct CameraFuzzCase {
  private var input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  /// Any enumeration yields modes within the limits; the chosen one is among them.
  mutating func run() {
    guard let width: UInt16 = self.input.readInteger(), let height: UInt16 = self.input.readInteger(),
      let isUSB: UInt8 = self.input.readInteger()
    else { return }
    let wanted = (width: max(1, Int(width)), height: max(1, Int(height)))
    var modes: [CameraMode] = []
    while modes.count < 64, let fourCC: UInt32 = self.input.readInteger(endianness: .little),
      let sizes = self.readSizes(), let rates = self.readRates()
    {
      guard let range = CameraSizeRange(sizes) else { continue }
      let candidates = range.candidates(near: wanted)
      precondition(
        (1...7).contains(candidates.count), "a range is listed as the common sizes, the wanted and the maximum")
      for size in candidates {
        precondition((1...CameraMode.maximumSide).contains(size.width), "widths are within the limits")
        precondition((1...CameraMode.maximumSide).contains(size.height), "heights are within the limits")
        modes.append(
          CameraMode(fourCC: FourCC(rawValue: fourCC), width: size.width, height: size.height, frameRates: rates))
      }
    }
    let chooser = CameraFormatChooser(
      width: wanted.width, height: wanted.height, frameRate: FrameRate(30),
      usbSpeed: isUSB & 1 == 1 ? USBSpeed(megabitsPerSecond: 480) : nil)
    guard let choice = chooser.choose(from: modes) else { return }
    precondition(
      modes.contains { $0.fourCC == choice.fourCC && $0.width == choice.width && $0.height == choice.height },
      "the chosen mode is offered")
    precondition(choice.frameRate.framesPerSecond > 0)
  }

  private mutating func readSizes() -> vidicon_v4l2_sizes? {
    guard let numbers = self.readNumbers(6), let isRange: UInt8 = self.input.readInteger() else { return nil }
    var sizes = vidicon_v4l2_sizes()
    (sizes.min_width, sizes.max_width, sizes.width_step) = (numbers[0], numbers[1], numbers[2])
    (sizes.min_height, sizes.max_height, sizes.height_step) = (numbers[3], numbers[4], numbers[5])
    sizes.is_range = isRange & 1 == 1
    return sizes
  }

  private mutating func readRates() -> CaptureDeviceFormat.FrameRates? {
    guard let numbers = self.readNumbers(4) else { return nil }
    let maximum = FrameRate(interval: numbers[0], over: numbers[1])
    let minimum = FrameRate(interval: numbers[2], over: numbers[3])
    for rate in [maximum, minimum] {
      if let rate { precondition((0...1000).contains(rate.framesPerSecond), "rates are within the limits") }
    }
    guard let maximum, let minimum else { return .discrete([maximum, minimum].compactMap(\.self)) }
    return .range(min(minimum, maximum)...max(minimum, maximum))
  }

  private mutating func readNumbers(_ count: Int) -> [UInt32]? {
    var numbers: [UInt32] = []
    while numbers.count < count {
      guard let number: UInt32 = self.input.readInteger(endianness: .little) else { return nil }
      numbers.append(number)
    }
    return numbers
  }
}
