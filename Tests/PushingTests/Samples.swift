import Media
import NIOCore

@testable import Pushing

/// A time in milliseconds.
func time(_ milliseconds: Int64) -> MediaTime { MediaTime.zero + .milliseconds(milliseconds) }

/// Zeros that all samples share: hours of simulated samples fill no memory of their own.
private let zeros = ByteBuffer(repeating: 0, count: 1 << 20)

private func payload(_ size: Int) -> ByteBuffer {
  guard size <= zeros.readableBytes else { return ByteBuffer(repeating: 0, count: size) }
  // Not a slice, which a debug build takes ten microseconds for.
  var buffer = zeros
  buffer.moveWriterIndex(to: size)
  return buffer
}

/// A video sample with its index as time.
func video(_ milliseconds: Int64, isKeyframe: Bool = false, size: Int = 1000) -> EncodedSample {
  EncodedSample(
    kind: .video, payload: payload(size), presentationTime: time(milliseconds),
    duration: .milliseconds(33), isKeyframe: isKeyframe)
}

/// An audio sample.
func audio(_ milliseconds: Int64, size: Int = 170) -> EncodedSample {
  EncodedSample(
    kind: .audio, payload: payload(size), presentationTime: time(milliseconds),
    duration: .milliseconds(21), isKeyframe: true)
}
