// The operator token of this browser tab: from the page's address (`#control=TOKEN`) or a login. It is kept for the session
// of the tab, and sent with the requests of the page.

import { root } from "./root.mjs";

/** Several servers may have one origin, each below its own path. */
const KEY = root === "/" ? "vidicon-operator-token" : `vidicon-operator-token:${root}`;
/** The form of a token, RFC 6750 §2.1. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

const storage = globalThis.sessionStorage ?? null;
let current = read();
/** The token that one of the address has replaced; null without one. */
let replaced = null;
takeFromAddress();

/** The token; null without one. */
export function operatorToken() {
  return current;
}

/** Stores a token; null ends the session. */
export function setOperatorToken(token) {
  current = token;
  try {
    if (token) storage?.setItem(KEY, token);
    else storage?.removeItem(KEY);
  } catch {
    // Storage may be blocked: the token is kept while the page is open.
  }
}

/** Forgets the token, which the server does not accept. One that a wrong token of the address has replaced is used again: any
 * page can lead here with `#control=`. */
export function rejectOperatorToken() {
  setOperatorToken(replaced);
  replaced = null;
}

/** The URL of a file with the token in its query, for elements and downloads, which have no header. */
export function withToken(url) {
  return current ? `${url}${url.includes("?") ? "&" : "?"}token=${encodeURIComponent(current)}` : url;
}

function read() {
  try {
    return storage?.getItem(KEY) ?? null;
  } catch {
    return null;
  }
}

/** Moves the token out of the address, so that it is not in bookmarks and shared links. */
function takeFromAddress() {
  const hash = globalThis.location?.hash ?? "";
  if (!hash.startsWith("#control=")) return;
  let token = hash.slice("#control=".length);
  try {
    token = decodeURIComponent(token);
  } catch {
    // An invalid escape: the token is used unchanged.
  }
  if (TOKEN.test(token) && token !== current) {
    replaced = current;
    setOperatorToken(token);
  }
  history.replaceState(null, "", location.pathname + location.search);
}
