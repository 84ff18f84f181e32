// ICE of sessions that are opened over HTTP: STUN and TURN servers, and restarts after the network has changed.

import { RequestError } from "./requests.mjs";

/** The STUN and TURN servers of `Link` fields, RFC 9725 §4.6. */
export function iceServersOf(link) {
  return [...(link ?? "").matchAll(/<([^>]*)>((?:\s*;\s*[\w-]+="[^"]*")*)/g)].flatMap(([, urls, parameters]) => {
    const value = (name) => new RegExp(`;\\s*${name}="([^"]*)"`).exec(parameters)?.[1];
    if (value("rel") !== "ice-server") return [];
    const [username, credential] = [value("username"), value("credential")];
    return [username === undefined ? { urls } : { urls, username, credential }];
  });
}

/** The lines of a session description that a PATCH has. */
export function restartFragment(offer) {
  const line = (name) => new RegExp(`^a=${name}:[^\r\n]*`, "m").exec(offer)?.[0];
  return [line("ice-ufrag"), line("ice-pwd"), ""].join("\r\n");
}

/** An answer with the credentials of a fragment. */
export function restartedAnswer(answer, fragment) {
  const value = (name) => new RegExp(`^a=${name}:([^\r\n]*)`, "m").exec(fragment)?.[1];
  return answer
    .replace(/^a=ice-ufrag:[^\r\n]*/gm, () => `a=ice-ufrag:${value("ice-ufrag")}`)
    .replace(/^a=ice-pwd:[^\r\n]*/gm, () => `a=ice-pwd:${value("ice-pwd")}`);
}

/**
 * Restarts ICE of a session; keys and media go on.
 *
 * @param {{entityTag: string, answer: string}} session Its entity tag and answer, which change.
 * @param {(options: RequestInit) => Promise<Response>} request Sends a request to the session's URL.
 * @param {(offer: string) => string} [change] Changes the offer as the session's first one.
 * @throws {RequestError} When the session has ended.
 */
export async function restart(peer, session, request, change = (offer) => offer) {
  const offer = await peer.createOffer({ iceRestart: true });
  await peer.setLocalDescription({ type: "offer", sdp: change(offer.sdp) });
  const response = await request({
    method: "PATCH", body: restartFragment(offer.sdp),
    headers: { "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": session.entityTag } });
  if (response.status !== 200) throw new RequestError("The session has ended.", response.status);
  session.entityTag = response.headers.get("ETag");
  session.answer = restartedAnswer(session.answer, await response.text());
  await peer.setRemoteDescription({ type: "answer", sdp: session.answer });
}
