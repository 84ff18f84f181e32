// Selection of the playback technologies of a browser. Pure, except `abilitiesOf`.

/** @typedef {"webrtc"|"stream"|"native"|"images"} Way */

/**
 * The ways to play, best first.
 *
 * Apple's browsers play low-latency HLS natively, with AirPlay and low power. The native HLS of other browsers starts at the
 * oldest segment, seconds behind, so it is tried after Media Source Extensions.
 *
 * WebRTC comes first, a tenth of a second behind the camera, where the server has it.
 *
 * @param {{isApple: boolean, playsHLS: boolean, playsFragments: boolean, playsWebRTC?: boolean}} abilities
 * @returns {Way[]} Best first; `images` (motion JPEG) is always the last.
 */
export function waysFor({ isApple, playsHLS, playsFragments, playsWebRTC = false }) {
  const ways = playsWebRTC ? ["webrtc"] : [];
  if (isApple && playsHLS) ways.push("native");
  if (playsFragments) ways.push("stream");
  if (!isApple && playsHLS) ways.push("native");
  return [...ways, "images"];
}

/**
 * The abilities of this browser for a stream with these codecs.
 *
 * @param {object} stream As `/api/streams` describes it.
 */
export function abilitiesOf(video, codecs, stream) {
  const Source = globalThis.MediaSource ?? globalThis.ManagedMediaSource;
  return {
    isApple: navigator.vendor.startsWith("Apple"),
    playsWebRTC: Boolean(globalThis.RTCPeerConnection && stream.whep && stream.video),
    playsHLS: video.canPlayType("application/vnd.apple.mpegurl") !== "",
    playsFragments: Source?.isTypeSupported(`video/mp4; codecs="${codecs}"`) ?? false,
  };
}
