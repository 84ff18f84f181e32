// The ways a browser can show a stream, and which is best. Pure, but for `abilitiesOf`.

/** @typedef {"stream"|"native"|"pictures"} Way */

/**
 * Chooses.
 *
 * Apple's browsers play HLS themselves, with AirPlay and little power: nothing of ours is better there. Other browsers
 * that do so too begin at the oldest segment, seconds too late, so they come last.
 *
 * @param {{isApple: boolean, playsHLS: boolean, playsFragments: boolean}} abilities
 * @returns {Way[]} The best first; `pictures` (Motion JPEG) is always the last.
 */
export function waysFor({ isApple, playsHLS, playsFragments }) {
  const ways = [];
  if (isApple && playsHLS) ways.push("native");
  if (playsFragments) ways.push("stream");
  if (!isApple && playsHLS) ways.push("native");
  return [...ways, "pictures"];
}

/** What this browser can do with a stream of these codecs. */
export function abilitiesOf(video, codecs) {
  const Source = globalThis.MediaSource ?? globalThis.ManagedMediaSource;
  return {
    isApple: navigator.vendor.startsWith("Apple"),
    playsHLS: video.canPlayType("application/vnd.apple.mpegurl") !== "",
    playsFragments: Source?.isTypeSupported(`video/mp4; codecs="${codecs}"`) ?? false,
  };
}
