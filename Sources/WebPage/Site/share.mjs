// The panel with the URLs of a stream, to copy or as QR codes.

import { addressesOf } from "./addresses.mjs";
import { root, urlOf } from "./root.mjs";

const element = (id) => document.getElementById(id);
/** Duration of the copied state, in milliseconds. */
const COPIED_FOR = 1800;
let shown = "";

/** Shows the URLs of a stream; does nothing while they are unchanged, so that a text selection is kept. */
export function showAddresses(stream) {
  const addresses = addressesOf(stream, location.href, root);
  const key = JSON.stringify(addresses);
  if (key === shown) return;
  shown = key;
  element("addresses").replaceChildren(...addresses.map(row));
}

function row({ name, hint, address }) {
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
  find(".show").addEventListener("click", () => showCode(name, address));
  return item;
}

function label(button, name, tip) {
  button.setAttribute("aria-label", name);
  button.title = tip;
}

async function copyFrom(button, name, address) {
  const done = await copy(address);
  element("said").textContent = done ? `Copied: ${name}` : "Copying is not permitted. Select the URL instead.";
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

function showCode(name, address) {
  element("code-name").textContent = name;
  element("code-image").src = urlOf(`api/qr.svg?text=${encodeURIComponent(address)}`).href;
  element("code-image").alt = `QR code of ${address}`;
  element("code-address").textContent = address;
  element("code").showModal();
}

// A click outside the dialog closes it.
element("code").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});
