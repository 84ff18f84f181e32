package import HTTPServer
package import Media
package import Streaming

extension RenditionSettings {
  private enum Key: String, CaseIterable {
    case width, height, bitrate, frameRate
  }

  /// Parses the body of `PUT /api/streams/NAME/renditions/RENDITION`; the stream checks the other values than the frame rate.
  package init(_ json: JSONValue, name: String) throws(HTTPRefusal) {
    let form = #"{"width": 640, "height": 360, "bitrate": 450000, "frameRate": 15}, where frameRate may be left out"#
    let members = try JSONMembers(json, keys: Key.self, form: form)
    func integer(_ key: Key) throws(HTTPRefusal) -> Int? { try members.value(key, "is a number", as: \.integer) }
    let bitrate = try integer(.bitrate)
    let frameRate = try members.optionalValue(.frameRate, Self.frameRateRule, as: Self.frameRate)
    let height = try integer(.height)
    guard let width = try integer(.width), let height, let bitrate else {
      throw HTTPRefusal("width, height and bitrate are required: the body is \(form)")
    }
    self.init(name: name, width: width, height: height, bitrate: bitrate, frameRate: frameRate)
  }

  private static let frameRateRule =
    "is a number from \(Int(Self.frameRates.lowerBound)) to \(Int(Self.frameRates.upperBound)), with at most three decimals"

  /// The frame rate of a number; nil for other values and those out of range.
  private static func frameRate(_ json: JSONValue) -> FrameRate? {
    let text = json.integer.map { "\($0)" } ?? json.double.map { "\($0)" }
    return text.flatMap { FrameRate(parsing: $0, in: Self.frameRates) }
  }
}
