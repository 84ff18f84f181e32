internal import Bitstreams
internal import CaptureDevices
internal import Codecs
internal import Media
internal import MediaInput
internal import NIOCore
internal import StreamControl

/// Checks of the parsers of sources: specifications, YUV4MPEG2 headers, images of cameras.
struct InputFuzzCase {
  private let bytes: [UInt8]
  private var text: String { String(decoding: self.bytes, as: UTF8.self) }

  init(_ input: ByteBuffer) {
    self.bytes = Array(input.readableBytesView)
  }

  /// Every source specification is accepted, or refused with one line that contains no password.
  func checkSpecifications() {
    let text = self.text
    do throws(VidiconError) {
      let video = try SourceSpecification.Video(parsing: text)
      if case .network(let address) = video {
        guard let again = try? NetworkSpecification(parsing: address.url) else {
          preconditionFailure("the URL of a specification parses")
        }
        precondition(again.url == address.url, "the URL stays the same")
        precondition(!address.hasCredentials || address.description.contains("…@"), "credentials are hidden")
      }
    } catch {
      precondition(!error.description.contains("\n"), "an error is one line")
    }
    if let rate = FrameRate(parsing: text, in: 1...240) {
      precondition((0.999...240.001).contains(rate.framesPerSecond), "the rate is in range")
    }
  }

  /// A header line is refused, or describes frames that fit into memory.
  func checkY4M() {
    guard let header = try? Y4MHeader(parsing: self.bytes, source: "pipe:") else { return }
    precondition(Y4MHeader.sizes.contains(header.width) && Y4MHeader.sizes.contains(header.height))
    precondition((1...240).contains(header.frameRate.framesPerSecond))
    precondition(header.frameByteCount >= header.width * header.height)
    precondition(header.planes.count == 1 || header.planes.count == 3)
  }

  /// A camera's JPEG image is decoded to the announced size, or skipped.
  func checkJPEG() {
    let format = VideoFormat(width: 320, height: 240, frameRate: FrameRate(30))
    guard var decoder = JPEGDecoder(format: format, orientation: .up) else { preconditionFailure("no JPEG decoder") }
    let padded = self.bytes + [UInt8](repeating: 0, count: 64)
    for index in 0..<4 {
      switch decoder.decode(padded, count: self.bytes.count, at: MediaTime(nanoseconds: Int64(index))) {
      case .frame(let frame), .newFormat(let frame):
        precondition(frame.format.width > 0 && frame.format.height > 0)
      case nil: break
      }
    }
    self.checkStream()
    for hasParts in [false, true] { self.checkImages(hasParts: hasParts) }
  }

  /// Images of a response are found however its bytes arrive.
  private func checkImages(hasParts: Bool) {
    var (whole, single) = (ImageStreamReader(hasParts: hasParts), ImageStreamReader(hasParts: hasParts))
    whole.append(ByteBuffer(bytes: self.bytes))
    var images: [ImageStreamReader.Image] = []
    while let image = whole.next() {
      precondition(image.bytes.readableBytes <= self.bytes.count + 2, "an image has the bytes of the response")
      images.append(image)
    }
    var found: [ImageStreamReader.Image] = []
    for byte in self.bytes {
      single.append(ByteBuffer(integer: byte))
      while let image = single.next() { found.append(image) }
    }
    precondition(images == found && whole.droppedCount == single.droppedCount, "arrival changes nothing")
  }

  /// Images of a stream begin with SOI, end with EOI, and do not depend on how its bytes arrive.
  private func checkStream() {
    var (whole, single) = (JPEGStreamReader(), JPEGStreamReader())
    whole.append(ByteBuffer(bytes: self.bytes))
    var images: [ByteBuffer] = []
    while let image = whole.next() {
      precondition(image.readableBytesView.starts(with: [0xFF, 0xD8, 0xFF]), "an image begins with SOI")
      precondition(image.readableBytesView.suffix(2).elementsEqual([0xFF, 0xD9]), "an image ends with EOI")
      images.append(image)
    }
    var found: [ByteBuffer] = []
    for byte in self.bytes {
      single.append(ByteBuffer(integer: byte))
      while let image = single.next() { found.append(image) }
    }
    precondition(images == found && whole.droppedCount == single.droppedCount, "arrival changes nothing")
  }
}
