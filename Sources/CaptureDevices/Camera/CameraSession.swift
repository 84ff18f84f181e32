internal import CV4L2
internal import Capture
internal import Codecs
internal import Libc
internal import Media
internal import Threading

/// An open camera that is streaming, until ``close()``. Used by one thread at a time.
final class CameraSession {
  /// Number of buffers requested from the driver: those that the pipeline holds, and those that the device fills meanwhile.
  private static let bufferCount: UInt32 = 8

  let device: V4L2Device
  let source: String
  let pixels: CameraPixels
  /// Position of the planes in a buffer.
  let layout: CameraLayout
  /// Format of the delivered frames; converted, decoded and interlaced frames are 4:2:0.
  let format: VideoFormat
  /// Whether Y'CbCr samples are in full range: black is 0 and white 255.
  let isFullRange: Bool
  /// Order of the fields of interlaced frames; nil for progressive ones.
  let fields: FieldOrder?
  let orientation: Orientation
  let buffers: CameraBuffers
  /// Number of buffers owned by the driver.
  private(set) var queuedCount = 0
  /// Whether each buffer is owned by the driver.
  private var isQueued: [Bool]
  private var isClosed = false

  /// Opens the first usable camera of a list of nodes.
  ///
  /// - Throws: ``VidiconError`` of the first node that is a camera.
  static func open(_ request: CameraRequest, paths: [String], wake: WakePipe) throws(VidiconError) -> CameraSession {
    var first: VidiconError?
    for path in paths where !wake.isStopped {
      do throws(VidiconError) {
        return try CameraSession(V4L2Device(path: path, source: request.source), request: request, wake: wake)
      } catch {
        if error.code != .notFound || paths.count == 1 { first = first ?? error }
      }
    }
    throw first ?? .noCamera(source: request.source)
  }

  private init(_ device: V4L2Device, request: CameraRequest, wake: WakePipe) throws(VidiconError) {
    let source = request.source
    try device.setInput(request.specification.input, source: source)
    let choice = try request.choose(from: device)
    let set: vidicon_v4l2_format
    let rate: FrameRate
    do throws(V4L2Failure) {
      set = try device.setFormat(choice)
    } catch {
      throw error.vidiconError(source: source, path: device.path)
    }
    let field = CameraField(set.field, height: set.height)
    if case .separate(let name) = field {
      throw VidiconError(
        .unsupported, subject: source, cause: "it delivers single fields, not whole frames (V4L2_FIELD_\(name))",
        nextStep: "choose another input or size with ?input= and ?size=, or a converter that deinterlaces")
    }
    do throws(V4L2Failure) {
      rate = device.setFrameRate(choice.frameRate)
      self.buffers = try CameraBuffers(device, count: Self.bufferCount, wake: wake)
    } catch {
      throw error.vidiconError(source: source, path: device.path)
    }
    self.isQueued = Array(repeating: false, count: self.buffers.memories.count)
    let sides = 1...UInt32(CameraMode.maximumSide)
    guard let pixels = CameraPixels(fourCC: FourCC(rawValue: set.fourcc)), sides.contains(set.width),
      sides.contains(set.height)
    else {
      throw VidiconError(
        .invalidData, subject: source,
        cause:
          "it set \(FourCC(rawValue: set.fourcc)) at \(set.width)x\(set.height) although \(choice.fourCC) was requested",
        nextStep: "choose another format with ?format=")
    }
    self.device = device
    self.source = source
    self.pixels = pixels
    self.layout = CameraLayout(
      pixels, width: Int(set.width), height: Int(set.height), bytesPerLine: set.bytesPerLine)
    self.isFullRange = set.isFullRange
    self.fields = field.order
    self.format = Self.format(
      of: set, pixels: pixels, layout: self.layout, isInterlaced: field.order != nil, frameRate: rate)
    self.orientation = device.orientation
    for memories in self.buffers.memories where !self.layout.fits(in: memories.map(\.length)) {
      throw VidiconError(
        .invalidData, subject: source,
        cause: "its buffers are too small for frames of \(set.width)x\(set.height)",
        nextStep: "choose another size or format with ?size= and ?format=")
    }
    do throws(V4L2Failure) {
      for index in self.buffers.memories.indices { try self.queue(UInt32(index)) }
      try device.check(
        vidicon_v4l2_set_streaming(device.descriptor, device.identity.isMultiPlanar, true), .start)
    } catch {
      throw error.vidiconError(source: source, path: device.path)
    }
  }

  deinit {
    self.close()
  }

  /// Stops streaming and frees the driver's buffers. Frames that are still referenced keep their memory.
  ///
  /// Mapped memory keeps the device's file open, so closing the descriptor frees nothing, and the next program would find the
  /// camera in use. Hence the buffers are freed here; Linux 5.0 or later orphans those that are still mapped.
  func close() {
    guard !self.isClosed else { return }
    self.isClosed = true
    self.buffers.disconnect()
    let isMultiPlanar = self.device.identity.isMultiPlanar
    _ = vidicon_v4l2_set_streaming(self.device.descriptor, isMultiPlanar, false)
    var count: UInt32 = 0
    _ = vidicon_v4l2_request_buffers(self.device.descriptor, isMultiPlanar, &count)
  }

  /// Enqueues a buffer for the device to fill (`VIDIOC_QBUF`).
  func queue(_ index: UInt32) throws(V4L2Failure) {
    let planeCount = UInt32(self.buffers.memories[Int(index)].count)
    try self.device.check(
      vidicon_v4l2_queue_buffer(self.device.descriptor, self.device.identity.isMultiPlanar, index, planeCount),
      .capture)
    self.isQueued[Int(index)] = true
    self.queuedCount += 1
  }

  /// Enqueues the buffers whose frames have been released.
  func queueReleased() throws(V4L2Failure) {
    for index in self.buffers.takeReleased() { try self.queue(index) }
  }

  /// Dequeues a filled buffer (`VIDIOC_DQBUF`); nil when none is ready.
  func dequeue() throws(V4L2Failure) -> vidicon_v4l2_buffer? {
    var buffer = vidicon_v4l2_buffer()
    let status = vidicon_v4l2_dequeue_buffer(
      self.device.descriptor, self.device.identity.isMultiPlanar, &buffer)
    if status == EAGAIN { return nil }
    try self.device.check(status, .capture)
    guard Int(buffer.index) < self.buffers.memories.count else { throw V4L2Failure(call: .capture, number: EIO) }
    self.isQueued[Int(buffer.index)] = false
    self.queuedCount -= 1
    return buffer
  }

  /// Stops and starts streaming (`VIDIOC_STREAMOFF`, `VIDIOC_STREAMON`). Buffers that frames reference stay theirs.
  func restart() throws(V4L2Failure) {
    let isMultiPlanar = self.device.identity.isMultiPlanar
    try self.device.check(vidicon_v4l2_set_streaming(self.device.descriptor, isMultiPlanar, false), .start)
    // The driver has returned its buffers.
    let returned = self.isQueued.indices.filter { self.isQueued[$0] }
    self.isQueued = Array(repeating: false, count: self.isQueued.count)
    self.queuedCount = 0
    for index in returned { try self.queue(UInt32(index)) }
    try self.device.check(vidicon_v4l2_set_streaming(self.device.descriptor, isMultiPlanar, true), .start)
  }

  /// The format of the delivered frames, given the format that the driver has set.
  private static func format(
    of set: vidicon_v4l2_format, pixels: CameraPixels, layout: CameraLayout, isInterlaced: Bool, frameRate: FrameRate
  ) -> VideoFormat {
    var pixelFormat = PixelFormat.i420
    var bytesPerRow: [Int]?
    if case .direct(let format, let order) = pixels.handling, !isInterlaced,
      !(set.isFullRange && format.isYCbCr)
    {
      pixelFormat = format
      bytesPerRow = order.map { layout.planes[$0].bytesPerRow }
    }
    return VideoFormat(
      width: Int(set.width), height: Int(set.height), pixelFormat: pixelFormat, bytesPerRow: bytesPerRow,
      // JPEG files are BT.601 whatever the driver reports (JFIF 1.02).
      frameRate: frameRate, colorMatrix: pixels.handling == .jpeg ? .bt601 : set.colorMatrix)
  }
}
