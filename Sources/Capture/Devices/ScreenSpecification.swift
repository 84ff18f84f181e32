public import Media

/// Selects a screen or window and the part of it to capture.
///
///     screen:[DISPLAY][?OPTION=VALUE[&OPTION=VALUE]…]
///
/// | part     | example            | meaning                                                                        |
/// |----------|--------------------|--------------------------------------------------------------------------------|
/// | DISPLAY  | `:0`, `host:0.1`   | the X display; by default that of the environment variable `DISPLAY`           |
/// | `region` | `100,50,640,360`   | the rectangle to capture: left, top, width, height in pixels                   |
/// | `window` | `0x1c00007`, `123` | the window to capture, by the number that `xwininfo` shows                     |
/// | `cursor` | `0`                | 0 hides the mouse pointer, 1 shows it (default)                                |
/// | `fps`    | `15`, `29.97`      | the maximum frame rate, in frames per second                                   |
public struct ScreenSpecification: Hashable, Sendable {
  /// A rectangle in pixels, measured from the top left corner of the screen or window.
  public struct Region: Hashable, Sendable {
    /// First column, 0 to 65535; 0 is the left edge.
    public var x: Int
    /// First row, 0 to 65535; 0 is the top edge.
    public var y: Int
    /// Number of columns, 1 to 65535.
    public var width: Int
    /// Number of rows, 1 to 65535.
    public var height: Int

    /// Creates a rectangle; the ranges are not checked.
    public init(x: Int, y: Int, width: Int, height: Int) {
      self.x = x
      self.y = y
      self.width = width
      self.height = height
    }
  }

  /// The X display, such as ":0" or "host:0.1"; nil for that of the environment.
  public var display: String?
  /// The part to capture, clipped to the screen or window; nil for all of it.
  public var region: Region?
  /// The window to capture, 1 to 0xFFFFFFFF; nil for the screen.
  public var window: UInt32?
  /// Whether frames include the mouse pointer; true by default.
  public var showsCursor: Bool
  /// Maximum frame rate in frames per second; nil for the stream's.
  public var frameRate: FrameRate?

  /// Creates a specification; by default of the whole screen of the environment, with the mouse pointer.
  public init(
    display: String? = nil, region: Region? = nil, window: UInt32? = nil, showsCursor: Bool = true,
    frameRate: FrameRate? = nil
  ) {
    self.display = display
    self.region = region
    self.window = window
    self.showsCursor = showsCursor
    self.frameRate = frameRate
  }

  /// Parses a specification, including `screen:`.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, whose next step shows a valid value.
  public init(parsing text: String) throws(VidiconError) {
    guard text.hasPrefix("screen:") else {
      throw Self.error(text, "it does not begin with screen:", "write screen:, screen::0 or screen:HOST:0.1")
    }
    self.init()
    let parts = text.dropFirst("screen:".count).split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    if let display = parts.first, !display.isEmpty {
      guard Self.isDisplay(display) else {
        throw Self.error(
          text, "\"\(display.withoutCredentials().prefix(40))\" is not an X display",
          "write screen:, screen::0 or screen:HOST:0.1")
      }
      self.display = String(display)
    }
    guard parts.count == 2 else { return }
    var names: Set<Substring> = []
    for option in parts[1].split(separator: "&", omittingEmptySubsequences: false) {
      let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, names.insert(pair[0]).inserted else {
        throw Self.error(
          text,
          pair.count == 2
            ? "\(pair[0].withoutCredentials().prefix(20)) is given twice"
            : "\"\(option.withoutCredentials().prefix(40))\" is not an option",
          "give each of region=X,Y,W,H, window=ID, cursor=0|1 and fps=RATE at most once, with & between them")
      }
      try self.setOption(pair[0], pair[1], of: text)
    }
  }

  /// Whether the display is one of this machine: with a host before the number, Xlib connects over TCP, or to a socket.
  package var isOfThisMachine: Bool {
    self.display?.hasPrefix(":") ?? true
  }

  private mutating func setOption(_ name: Substring, _ value: Substring, of text: String) throws(VidiconError) {
    let option = "\(name)=\(value.withoutCredentials().prefix(40))"
    switch name {
    case "region":
      guard let region = Region(parsing: value) else {
        throw Self.error(
          text, "\(option) is not a rectangle", "write region=X,Y,W,H: left, top, width and height in pixels")
      }
      self.region = region
    case "window":
      guard let window = Self.window(value) else {
        throw Self.error(
          text, "\(option) is not a window number", "write window=123 or window=0x7b, as xwininfo shows it")
      }
      self.window = window
    case "cursor":
      guard value == "0" || value == "1" else {
        throw Self.error(text, "\(option) is neither on nor off", "write cursor=0 or cursor=1")
      }
      self.showsCursor = value == "1"
    case "fps":
      guard let rate = FrameRate(parsing: value, in: 1...240) else {
        throw Self.error(text, "\(option) is not a frame rate", "write fps=1 to fps=240, fps=29.97 or fps=30000/1001")
      }
      self.frameRate = rate
    default:
      throw Self.error(
        text, "there is no option \"\(name.withoutCredentials().prefix(40))\"",
        "use region=X,Y,W,H, window=ID, cursor=0|1 and fps=RATE")
    }
  }

  private static func error(_ text: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: String(text.withoutCredentials().prefix(200)), cause: cause, nextStep: nextStep)
  }

  /// Whether a text is HOST:NUMBER or HOST:NUMBER.SCREEN; the host may be empty.
  private static func isDisplay(_ text: Substring) -> Bool {
    guard text.utf8.count <= 255, let colon = text.lastIndex(of: ":") else { return false }
    let numbers = text[text.index(after: colon)...].split(separator: ".", omittingEmptySubsequences: false)
    let hostBytes: Set<UInt8> = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/:%[]".utf8)
    return (1...2).contains(numbers.count) && numbers.allSatisfy { self.number($0, maximum: 59_535) != nil }
      && text[..<colon].utf8.allSatisfy(hostBytes.contains)
  }

  private static func window(_ text: Substring) -> UInt32? {
    let window: UInt32? =
      if text.hasPrefix("0x") || text.hasPrefix("0X") {
        text.dropFirst(2).utf8.allSatisfy { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }
          ? UInt32(text.dropFirst(2), radix: 16) : nil
      } else {
        self.number(text, maximum: Int(UInt32.max)).map { UInt32($0) }
      }
    return window == 0 ? nil : window
  }

  /// Parses decimal digits; nil for other characters, and above the maximum.
  fileprivate static func number(_ text: Substring, maximum: Int) -> Int? {
    guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let value = Int(text),
      value <= maximum
    else { return nil }
    return value
  }
}

extension ScreenSpecification.Region {
  /// Parses `X,Y,W,H`; nil unless these are four numbers with a non-empty area.
  fileprivate init?(parsing text: Substring) {
    let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map {
      ScreenSpecification.number($0, maximum: 65_535)
    }
    guard numbers.count == 4, let x = numbers[0], let y = numbers[1], let width = numbers[2], let height = numbers[3],
      width > 0, height > 0
    else { return nil }
    self.init(x: x, y: y, width: width, height: height)
  }
}

extension ScreenSpecification: CustomStringConvertible {
  /// The specification in the syntax of ``init(parsing:)``.
  public var description: String {
    var options: [String] = []
    if let region { options.append("region=\(region.x),\(region.y),\(region.width),\(region.height)") }
    if let window { options.append("window=0x" + String(window, radix: 16)) }
    if !self.showsCursor { options.append("cursor=0") }
    if let frameRate {
      options.append(
        "fps=\(frameRate.numerator)" + (frameRate.denominator == 1 ? "" : "/\(frameRate.denominator)"))
    }
    return "screen:" + (self.display ?? "") + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
  }
}
