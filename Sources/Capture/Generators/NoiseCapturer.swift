internal import CCapture
public import Media

/// White noise: ARGB frames of random bytes, alpha included; the hardest input for a video encoder.
public final class NoiseCapturer: GeneratedVideoCapturer {
  let generator: FrameGenerator

  /// Noise of any size, in ARGB.
  public init(width: Int = 1280, height: Int = 720, frameRate: FrameRate = FrameRate(30)) {
    let format = VideoFormat(width: width, height: height, pixelFormat: .argb, frameRate: frameRate)
    self.generator = FrameGenerator(name: "noise", format: format) {
      var random = SystemRandomNumberGenerator()
      var state = vidicon_noise_state()
      // A xorshift generator whose state is zero only returns zeros.
      state.words = (random.next() | 1, random.next() | 1, random.next() | 1, random.next() | 1)
      return { buffer, _, _ in
        let bytes = buffer.unsafePlane(0)
        vidicon_noise_fill(bytes.baseAddress, bytes.count, &state)
      }
    }
  }
}
