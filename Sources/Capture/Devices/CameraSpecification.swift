public import Media

/// Selects a camera and its options, as in `v4l2:/dev/video0?size=1280x720&fps=30&format=mjpeg&input=1`.
///
/// `v4l2:/dev/video0` selects a node, `v4l2:NAME` a camera by name, `v4l2:` the first camera that opens.
public struct CameraSpecification: Hashable, Sendable {
  /// The ways to select a camera.
  public enum Device: Hashable, Sendable {
    /// The first camera that opens, in the order of the nodes.
    case first
    /// A node, such as `/dev/video0`, or a link to one.
    case path(String)
    /// A case-insensitive name that matches exactly one camera: its card name, by-id name or bus, or a prefix or part of
    /// one of these.
    case name(String)
  }

  /// The camera to open; ``Device/first`` by default.
  public var device: Device
  /// Requested width in pixels; nil for the stream's.
  public var width: Int?
  /// Requested height in pixels; nil for the stream's.
  public var height: Int?
  /// Requested frame rate in frames per second; nil for the stream's.
  public var frameRate: FrameRate?
  /// `mjpeg`, `h264`, `yuyv`, `nv12` or a FourCC, in lower case; nil for the best format.
  public var format: String?
  /// Number of the input of a capture card; nil to leave it unchanged.
  public var input: Int?

  /// Creates a specification; without arguments, of the first camera that opens, in the stream's size and rate.
  public init(
    device: Device = .first, width: Int? = nil, height: Int? = nil, frameRate: FrameRate? = nil,
    format: String? = nil, input: Int? = nil
  ) {
    self.device = device
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.format = format
    self.input = input
  }
}

extension CameraSpecification {
  /// The camera's node or name as it was given; empty for the first one.
  package var selection: String {
    switch self.device {
    case .first: ""
    case .path(let text), .name(let text): text
    }
  }

  /// Whether a path is that of a camera's node, or of a link that the system makes: opening another device may have effects.
  package var isOfThisMachine: Bool {
    guard case .path(let path) = self.device else { return true }
    return ["/dev/video", "/dev/v4l/"].contains { path.hasPrefix($0) } && !path.split(separator: "/").contains("..")
  }

  /// Parses the part of a specification that follows `v4l2:`.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, whose next step shows a valid value.
  public init(parsing text: String) throws(VidiconError) {
    let parser = Parser(text)
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let device = String(parts[0])
    guard device.utf8.count <= 255, !device.utf8.contains(0) else {
      throw parser.error("no camera has such a name", "use v4l2:/dev/video0, v4l2:NAME or v4l2:")
    }
    self.init(device: device.isEmpty ? .first : device.hasPrefix("/") ? .path(device) : .name(device))
    guard parts.count == 2 else { return }

    var seen: Set<Substring> = []
    for item in parts[1].split(separator: "&", omittingEmptySubsequences: false) where !item.isEmpty {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let (key, value) = (pair[0], pair.count == 2 ? pair[1] : "")
      guard seen.insert(key).inserted else {
        throw parser.error("\"\(key.withoutCredentials())\" is given twice", "give it once")
      }
      switch key {
      case "size": (self.width, self.height) = try parser.size(value)
      case "fps": self.frameRate = try parser.rate(value)
      case "format": self.format = try parser.format(value)
      case "input": self.input = try parser.input(value)
      default:
        throw parser.error("a camera has no option \"\(key.withoutCredentials())\"", "use size, fps, format or input")
      }
    }
  }

  /// Parses option values and creates errors for invalid ones.
  private struct Parser {
    private let source: String

    init(_ text: String) {
      self.source = String("v4l2:\(text)".withoutCredentials().prefix(200))
    }

    func error(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, subject: self.source, cause: cause, nextStep: nextStep)
    }

    func size(_ text: Substring) throws(VidiconError) -> (Int, Int) {
      let numbers = text.split(separator: "x", omittingEmptySubsequences: false).map {
        self.number($0, maximum: 16_384)
      }
      guard numbers.count == 2, let width = numbers[0], let height = numbers[1], width > 0, height > 0 else {
        throw self.error(
          "\"\(text.withoutCredentials())\" is no size", "write it as size=1280x720, of 1 to 16384 pixels")
      }
      return (width, height)
    }

    func rate(_ text: Substring) throws(VidiconError) -> FrameRate {
      if let rate = FrameRate(parsing: text, in: 0.001...1000) { return rate }
      throw self.error(
        "\"\(text.withoutCredentials())\" is no frame rate",
        "write it as fps=30, fps=29.97 or fps=30000/1001, at most 1000")
    }

    func format(_ text: Substring) throws(VidiconError) -> String {
      let isName = (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
      guard isName else {
        throw self.error(
          "\"\(text.withoutCredentials())\" is no format",
          "use mjpeg, h264, yuyv, nv12 or the four characters of another")
      }
      return text.lowercased()
    }

    func input(_ text: Substring) throws(VidiconError) -> Int {
      guard let input = self.number(text, maximum: 63) else {
        throw self.error("\"\(text.withoutCredentials())\" is no input number", "write it as input=0, up to 63")
      }
      return input
    }

    private func number(_ text: Substring, maximum: Int) -> Int? {
      guard (1...7).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(text), number <= maximum
      else { return nil }
      return number
    }
  }
}

extension CameraSpecification: CustomStringConvertible {
  /// The specification in the syntax of ``init(parsing:)``, behind `v4l2:`.
  public var description: String {
    let options = [
      self.width.flatMap { width in self.height.map { "size=\(width)x\($0)" } },
      self.frameRate.map { "fps=\($0.numerator)" + ($0.denominator == 1 ? "" : "/\($0.denominator)") },
      self.format.map { "format=\($0)" }, self.input.map { "input=\($0)" },
    ].compactMap(\.self)
    return "v4l2:" + self.selection + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
  }
}
