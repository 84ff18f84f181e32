import Media
import NIOCore

@testable import Pushing

/// A time in milliseconds.
func time(_ milliseconds: Int64) -> MediaTime { MediaTime.zero + .milliseconds(milliseconds) }

/// A video sample with its index as time.
func video(_ milliseconds: Int64, isKeyframe: Bool = false, size: Int = 1000) -> EncodedSample {
  EncodedSample(
    kind: .video, payload: ByteBuffer(repeating: 0, count: size), presentationTime: time(milliseconds),
    duration: .milliseconds(33), isKeyframe: isKeyframe)
}

/// An audio sample.
func audio(_ milliseconds: Int64, size: Int = 170) -> EncodedSample {
  EncodedSample(
    kind: .audio, payload: ByteBuffer(repeating: 0, count: size), presentationTime: time(milliseconds),
    duration: .milliseconds(21), isKeyframe: true)
}
