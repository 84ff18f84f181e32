internal import CLibav
internal import CV4L2
internal import Codecs
internal import Media
internal import NIOCore
internal import Threading

/// Turns the buffers that a camera fills into frames or samples. Used by the camera's thread only.
final class CameraFrameReader {
  /// Minimum number of buffers that stay with the driver when a frame references one: one being filled, and the next.
  private static let minimumQueuedCount = 2

  /// Time after the request for a keyframe from which on access units that cannot be used are a failure of the camera.
  private static let keyframeTimeout = MediaDuration.seconds(2)

  private let session: CameraSession
  private let output: CameraOutput
  private let pool: VideoFramePool
  private let converter: SwscaleConverter?
  private let jpeg: CameraJPEGDecoder?
  private var h264: CameraAccessUnits?
  /// Time since which no usable access unit has arrived after a requested keyframe; nil after a usable one.
  private var waitingSince: MediaTime?

  /// - Throws: ``VidiconError`` when the decoder cannot be opened.
  init(_ session: CameraSession, output: CameraOutput) throws(VidiconError) {
    self.session = session
    self.output = output
    self.pool = VideoFramePool(format: session.format)
    var (converter, jpeg): (SwscaleConverter?, CameraJPEGDecoder?) = (nil, nil)
    switch session.pixels.handling {
    case .direct(let format, _):
      if session.fields != nil || session.isFullRange && format.isYCbCr {
        converter = SwscaleConverter(format: session.format)
      }
    case .convert: converter = SwscaleConverter(format: session.format)
    case .jpeg:
      jpeg = try CameraJPEGDecoder(
        format: session.format, orientation: session.orientation, source: session.source, output: output)
    case .h264: self.h264 = CameraAccessUnits(frameRate: session.format.frameRate)
    }
    self.converter = converter
    self.jpeg = jpeg
  }

  /// Ends the JPEG decoder's thread, if there is one.
  func stop() {
    self.jpeg?.stop()
  }

  /// Reports that frames were lost before the next buffer; compressed video resumes at a keyframe.
  func handleLoss() {
    guard self.h264?.handleLoss() == true else { return }
    self.requestKeyframe()
    self.waitingSince = StreamClock.system.now()
  }

  /// Waits for a keyframe after a restart of streaming, from which on the camera has its time for one again.
  func handleRestart() {
    self.handleLoss()
    self.waitingSince = nil
  }

  /// Requests a keyframe from a camera with an encoder; drivers without this control send one at their own interval.
  func requestKeyframe() {
    guard self.h264 != nil else { return }
    _ = vidicon_v4l2_set_control(self.session.device.descriptor, vidicon_v4l2_force_keyframe, 1)
  }

  /// Delivers the content of a filled buffer, and returns the buffer to the driver at once or when its frame is released.
  ///
  /// - Returns: Why the content is not usable; nil when it is.
  func handle(_ buffer: vidicon_v4l2_buffer, at time: MediaTime) throws(V4L2Failure) -> CameraHealth.Failure? {
    let memories = self.session.buffers.memories[Int(buffer.index)]
    let data = memories.indices.map { index in
      index < Int(buffer.plane_count) ? buffer.data(index, length: memories[index].length) : 0..<0
    }
    let isComplete =
      self.session.layout.fits(in: data.map(\.count)) && data.allSatisfy { !$0.isEmpty } && !buffer.is_error
    guard isComplete else {
      self.output.skip(at: time)
      self.handleLoss()
      try self.session.queue(buffer.index)
      return buffer.is_error ? .damaged : .incomplete
    }
    var failure: CameraHealth.Failure?
    let starts = zip(memories, data).map { $0.start + $1.lowerBound }
    let bytes = UnsafeRawBufferPointer(start: starts[0], count: data[0].count)
    switch self.session.pixels.handling {
    case .jpeg:
      self.jpeg?.decode(bytes, at: time)
      if self.jpeg?.isFailing ?? false { failure = .damaged }
    case .h264: failure = self.handleAccessUnit(bytes, at: time)
    case .convert(let format): self.deliver(self.convert(starts, from: format, at: time), at: time)
    case .direct(let format, _) where self.converter != nil:
      self.deliver(self.convert(starts, from: format.libav, at: time), at: time)
    case .direct(_, let order):
      let lengths = zip(memories, data).map { $0.length - $1.lowerBound }
      if self.session.queuedCount >= Self.minimumQueuedCount, self.session.layout.fitsWhole(in: lengths) {
        self.output.consume(self.borrow(buffer.index, starts: starts, order: order, at: time))
        return nil
      }
      self.deliver(self.copy(starts, order: order, at: time), at: time)
    }
    try self.session.queue(buffer.index)
    return failure
  }

  private func deliver(_ frame: VideoFrame?, at time: MediaTime) {
    guard var frame else { return self.output.skip(at: time) }
    frame.orientation = self.session.orientation
    self.output.consume(frame)
  }

  /// A frame in the device's memory; the buffer is released with the frame's last reference.
  private func borrow(_ index: UInt32, starts: [UnsafeMutableRawPointer], order: [Int], at time: MediaTime)
    -> VideoFrame
  {
    let planes = order.map { self.session.layout.planes[$0] }.map { starts[$0.memory] + $0.offset }
    let buffers = self.session.buffers
    let pixels = PixelBuffer(borrowing: planes, format: self.session.format) { buffers.release(index) }
    return VideoFrame(buffer: pixels, timestamp: time, orientation: self.session.orientation)
  }

  /// A frame in pooled memory; nil when all of that is in use.
  private func copy(_ starts: [UnsafeMutableRawPointer], order: [Int], at time: MediaTime) -> VideoFrame? {
    self.pool.frame(at: time) { pixels in
      for (index, place) in order.enumerated() {
        let plane = self.session.layout.planes[place]
        let (from, to) = (starts[plane.memory] + plane.offset, pixels.unsafePlane(index))
        // The last row may lack its padding.
        to.baseAddress?.copyMemory(from: from, byteCount: plane.end - plane.offset)
      }
    }
  }

  private func convert(_ starts: [UnsafeMutableRawPointer], from format: AVPixelFormat, at time: MediaTime)
    -> VideoFrame?
  {
    var planes: [UnsafePointer<UInt8>?] = [nil, nil, nil, nil]
    var rows: [Int32] = [0, 0, 0, 0]
    let order =
      if case .direct(_, let order) = self.session.pixels.handling { order } else {
        self.session.layout.planes.indices.map { $0 }
      }
    for (index, place) in order.enumerated() {
      let plane = self.session.layout.planes[place]
      planes[index] = UnsafePointer((starts[plane.memory] + plane.offset).assumingMemoryBound(to: UInt8.self))
      rows[index] = Int32(clamping: plane.bytesPerRow)
    }
    return self.converter?.convert(
      SwscaleConverter.Source(
        planes: (planes[0], planes[1], planes[2], planes[3]), bytesPerRow: (rows[0], rows[1], rows[2], rows[3]),
        width: Int32(self.session.format.width), height: Int32(self.session.format.height), pixelFormat: format,
        isFullRange: self.session.isFullRange || format == AV_PIX_FMT_GRAY8 || format == AV_PIX_FMT_GRAY16LE,
        fields: self.session.fields),
      at: time)
  }

  /// - Returns: A failure when nothing usable arrives although a keyframe was requested: parameter sets alone, or garbage.
  private func handleAccessUnit(_ bytes: UnsafeRawBufferPointer, at time: MediaTime) -> CameraHealth.Failure? {
    switch self.h264?.sample(parsing: ByteBuffer(bytes: bytes), at: time) {
    case .sample(let sample, let description):
      self.waitingSince = nil
      self.output.consume(sample, of: .h264(description))
      return nil
    case .unusable: self.output.skip(at: time)
    case .parameterSets, nil: break
    }
    let now = StreamClock.system.now()
    guard let waitingSince else {
      self.waitingSince = now
      self.requestKeyframe()
      return nil
    }
    return now - waitingSince >= Self.keyframeTimeout ? .damaged : nil
  }
}
