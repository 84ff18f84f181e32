// The addresses of a stream, and what each is good for. Pure.

/**
 * @param {object} stream As `/api/streams` describes it.
 * @param {string} page The address of the page that shows this.
 * @returns {Array<{name: string, hint: string, address: string}>}
 */
export function addressesOf(stream, page) {
  const base = reachableBase(stream, page);
  const at = (path) => (path ? new URL(path, base).href : null);
  return [
    { name: "Web page", hint: "This player, in any browser", address: at(stream.page) },
    { name: "RTSP", hint: "OBS: Media Source, Local File off", address: nearest(stream.rtsp, base) },
    { name: "HLS, low latency", hint: "Safari, apps, players on web pages", address: at(stream.hls) },
    { name: "HLS, MPEG-TS", hint: "VLC: Media → Open Network Stream", address: at(stream.ts) },
    { name: "Motion JPEG", hint: "Pictures without sound, in any page", address: at(stream.mjpeg) },
    { name: "Snapshot", hint: "One picture; small with ?width=480", address: at(stream.snapshot) },
  ].filter((entry) => entry.address);
}

/**
 * Where others reach the server. That is where this page came from, but for a page that was opened on the server's own
 * machine as "localhost": nobody else finds that.
 */
function reachableBase(stream, page) {
  if (!isLoopback(new URL(page).hostname)) return page;
  return (stream.http ?? []).find((address) => !isLoopback(new URL(address).hostname)) ?? page;
}

/** Of the server's addresses the one on the same host. */
function nearest(addresses, base) {
  const host = new URL(base).hostname;
  // "rtsp:" is no scheme whose host every browser's URL can tell.
  const hostOf = (address) => /^\w+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)/.exec(address)?.[1];
  return addresses?.find((address) => hostOf(address) === host) ?? addresses?.[0] ?? null;
}

function isLoopback(host) {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
