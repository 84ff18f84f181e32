// The panel with the URLs of a stream, to copy or as QR codes.

import { addressesOf, publishAddressesOf } from "./addresses.mjs";
import { request } from "./requests.mjs";
import { root, urlOf } from "./root.mjs";

const element = (id) => document.getElementById(id);
/** Duration of the copied state, in milliseconds. */
const COPIED_FOR = 1800;
/** JSON of the shown URLs by the id of their list. */
const shown = {};
/** State of a stream's publishers as operators get it, and the stream for which it was requested. */
let known = { key: "", publisher: null };
/** Number of codes that were chosen. */
let codes = 0;

/** Shows the URLs of a stream. */
export function showAddresses(stream) {
  list("addresses", addressesOf(stream, location.href, root));
  learn(stream);
  const { publisher } = known;
  list("publish-addresses", publisher?.token ? publishAddressesOf(stream, publisher, location.href, root) : []);
  element("publish").hidden = !publisher?.token;
}

/** Requests the token of a stream's publishers once, as an operator; forgets it when the client is none any more. */
function learn(stream) {
  const key = stream.whip && stream.role === "operator" ? `${stream.name} ${stream.startedAt}` : "";
  if (key === known.key) return;
  const own = known = { key, publisher: null };
  if (!key) return;
  request(`api/streams${stream.page}/publisher`, { as: "json", cache: "no-store" }).then((publisher) => {
    own.publisher = publisher;
    if (own === known) showAddresses(stream);
  }, () => { own.key = ""; });
}

/** Fills a list; does nothing while its URLs are unchanged, so that a text selection is kept. */
function list(id, addresses) {
  const key = JSON.stringify(addresses);
  if (key === shown[id]) return;
  shown[id] = key;
  element(id).replaceChildren(...addresses.map(row));
}

function row({ name, hint, address, isSecret }) {
  const item = element("address").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  find("strong").textContent = name;
  find(".quiet").textContent = hint;
  find("code").textContent = address;
  find("code").title = address;
  find("code").setAttribute("aria-label", `${name}: ${address}`);
  label(find(".copy"), `Copy URL: ${name}`, "Copy");
  label(find(".show"), `Show QR code: ${name}`, "QR code");
  find(".copy").addEventListener("click", (event) => copyFrom(event.currentTarget, name, address));
  find(".show").addEventListener("click", () => showCode(name, address, isSecret));
  return item;
}

/** Names a button for screen readers, and for the pointer. */
export function label(button, name, tip) {
  button.setAttribute("aria-label", name);
  button.title = tip;
}

/** Copies a text at a button of the page, and says so. */
export async function copyFrom(button, name, text) {
  const done = await copy(text);
  element("said").textContent = done ? `Copied: ${name}` : "Copying is not permitted. Select the text instead.";
  if (!done) return;
  const use = button.querySelector("use");
  use.setAttribute("href", "#i-done");
  setTimeout(() => {
    use.setAttribute("href", "#i-copy");
    element("said").textContent = "";
  }, COPIED_FOR);
}

/** Copies a text; without the Clipboard API, which browsers disable on plain HTTP, by `execCommand`. */
async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not permitted: tries `execCommand`.
    }
  }
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.className = "unseen";
  area.readOnly = true;
  document.body.append(area);
  area.select();
  area.setSelectionRange(0, text.length);
  const done = document.execCommand("copy");
  area.remove();
  before?.focus({ preventScroll: true });
  return done;
}

async function showCode(name, address, isSecret) {
  const own = ++codes;
  const image = isSecret ? await secretCode(address) : urlOf(`api/qr.svg?text=${encodeURIComponent(address)}`).href;
  // Another one was chosen meanwhile.
  if (own !== codes) return URL.revokeObjectURL(image);
  element("code-name").textContent = name;
  element("code-image").src = image;
  element("code-image").alt = `QR code of ${address}`;
  element("code-address").textContent = address;
  element("code").showModal();
}

/** The URL of a code whose text must be in no address: logs contain those. */
async function secretCode(text) {
  const image = await request("api/qr.svg", { file: new Blob([text], { type: "text/plain" }), as: "blob" }).catch(() => null);
  return image ? URL.createObjectURL(image) : "";
}

element("code").addEventListener("close", () => URL.revokeObjectURL(element("code-image").src));
// A click outside the dialog closes it.
element("code").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});
