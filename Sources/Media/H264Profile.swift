/// Profile of the H.264 that an encoder makes, ITU-T H.264 §A.2.
public enum H264Profile: String, Hashable, Sendable, CaseIterable {
  /// Constrained Baseline: every decoder and WebRTC; needs more bitrate than ``high`` for the same quality.
  case baseline
  /// Main: with CABAC.
  case main
  /// High: with 8x8 transforms too.
  case high
}
