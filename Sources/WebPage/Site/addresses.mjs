// The URLs of a stream with a hint on their use. Pure.

/**
 * @param {object} stream As `/api/streams` describes it.
 * @param {string} page The URL of this page.
 * @param {string} root The path of the server's root in it.
 * @returns {Array<{name: string, hint: string, address: string}>}
 */
export function addressesOf(stream, page, root = "/") {
  const { base, at } = baseOf(stream, page, root);
  return [
    { name: "Web page", hint: "This player, in any browser", address: at(stream.page) },
    { name: "RTSP", hint: "OBS: Media Source, Local File off", address: nearest(stream.rtsp, base) },
    { name: "RTMP", hint: "Players that know only RTMP", address: nearest(stream.rtmp, base) },
    { name: "WebRTC", hint: "WHEP players, in real time", address: at(stream.whep) },
    { name: "HLS, low latency", hint: "Safari, apps, web players", address: at(stream.hls) },
    { name: "HLS, MPEG-TS", hint: "VLC: Media → Open Network Stream", address: at(stream.ts) },
    { name: "Motion JPEG", hint: "Video without audio, in any web page", address: at(stream.mjpeg) },
    { name: "Snapshot", hint: "One JPEG image; smaller with ?width=480", address: at(stream.snapshot) },
  ].filter((entry) => entry.address);
}

/**
 * The addresses for those who send a camera to a stream, with the token.
 *
 * @param {{pages: string[], token: string}} publisher As `/api/streams/NAME/publisher` describes it to operators.
 */
export function publishAddressesOf(stream, publisher, page, root = "/") {
  const { base, at } = baseOf(stream, page, root);
  // Browsers have cameras for encrypted pages only.
  const address = base.startsWith("https:") ? at(`${stream.page}/publish`) : nearest(publisher.pages, base);
  return [
    { name: "Phone or browser", hint: "Scan, allow, tap Start", address: address && `${address}#${publisher.token}`, isSecret: true },
    { name: "WHIP", hint: "OBS and other encoders: server", address: address?.replace(/publish$/, "whip") ?? at(stream.whip) },
    { name: "Token", hint: "Bearer token, for encoders", address: publisher.token, isSecret: true },
  ].filter((entry) => entry.address);
}

/** The base URL of a stream's addresses, and the URL of a path there. */
function baseOf(stream, page, root) {
  const base = reachableBase(stream, page);
  // Only at the page's own address the server is below the proxy's path.
  const top = new URL(base === page ? root : "/", base);
  return { base, at: (path) => (path ? new URL(path.slice(1), top).href : null) };
}

/**
 * The base URL under which other machines reach the server: that of this page, or one reported by the server when the page
 * was opened as "localhost".
 */
function reachableBase(stream, page) {
  if (!isLoopback(new URL(page).hostname)) return page;
  return (stream.http ?? []).find((address) => !isLoopback(new URL(address).hostname)) ?? page;
}

/** The address with the host of `base`; else the first one. */
export function nearest(addresses, base) {
  const host = new URL(base).hostname;
  // Not every browser's URL class parses the host of "rtsp:".
  const hostOf = (address) => /^\w+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)/.exec(address)?.[1];
  return addresses?.find((address) => hostOf(address) === host) ?? addresses?.[0] ?? null;
}

function isLoopback(host) {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
