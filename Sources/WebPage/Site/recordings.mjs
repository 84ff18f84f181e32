// The page with the list of recordings.

import { pause, request } from "./requests.mjs";
import { urlOf } from "./root.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Polling interval in seconds. */
const INTERVAL = 4;
/** Rows by path of their file. */
const rows = new Map();

function rowFor(recording) {
  const item = element("row").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  find(".name").textContent = recording.name;
  find(".play").setAttribute("aria-label", `Play ${recording.name}`);
  find(".save").setAttribute("aria-label", `Download ${recording.name}`);
  // No ticket in the link: what is copied from the page opens nothing for others.
  find(".save").href = urlOf(recording.file).href;
  const row = { item, find, recording };
  find(".play").addEventListener("click", () => play(row.recording));
  find(".save").addEventListener("click", (event) => {
    if (!row.recording.ticket) return;
    event.preventDefault();
    const link = Object.assign(document.createElement("a"), { href: addressOf(row.recording), download: "" });
    link.click();
  });
  return row;
}

function update(row, recording) {
  const { find } = row;
  row.recording = recording;
  write(find(".details"), [
    recording.stream, new Date(recording.modifiedAt).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }),
    text.bytes(recording.bytes),
  ].join(" · "));
  find(".badge").hidden = recording.finished;
}

function show({ recordings, total, bytes }) {
  const files = new Set(recordings.map((recording) => recording.file));
  for (const [file, { item }] of rows) {
    if (files.has(file)) continue;
    item.remove();
    rows.delete(file);
  }
  recordings.forEach((recording, index) => {
    if (!rows.has(recording.file)) rows.set(recording.file, rowFor(recording));
    const row = rows.get(recording.file);
    update(row, recording);
    // Moving a row would lose its focus.
    const at = element("rows").children[index];
    if (at !== row.item) element("rows").insertBefore(row.item, at ?? null);
  });
  const listed = recordings.length < total ? ` · showing the last ${recordings.length}` : "";
  write(element("count"), total === 0 ? "" : `${text.files(total)} · ${text.bytes(bytes)}${listed}`);
  element("empty").hidden = recordings.length > 0;
  element("rows").hidden = recordings.length === 0;
  element("problem").hidden = true;
}

function fail(error) {
  write(element("problem"), error.status === 0 ? "No connection to the camera. Retrying."
    : error.status === 401 || error.status === 403 ? "Only operators see recordings: log in to control on the page of a camera."
    : `${error.message} Retrying.`);
  element("problem").hidden = false;
}

/** The URL of a file with its ticket, for elements and downloads, which have no header. */
function addressOf({ file, ticket }) {
  return urlOf(ticket ? `${file}?ticket=${ticket}` : file).href;
}

function play(recording) {
  element("theatre-name").textContent = recording.name;
  element("film").src = addressOf(recording);
  element("theatre").showModal();
  element("film").play().catch(() => {}); // The element has controls.
}

// Ends the download of a closed video.
element("theatre").addEventListener("close", () => {
  element("film").removeAttribute("src");
  element("film").load();
});
// A click outside the dialog closes it.
element("theatre").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});

function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

let wake = () => {};
document.addEventListener("visibilitychange", () => wake());
for (;;) {
  if (!document.hidden) {
    try {
      show(await request("api/recordings", { as: "json", cache: "no-store", seconds: 10 }));
    } catch (error) {
      fail(error);
    }
  }
  await Promise.race([pause(INTERVAL), new Promise((resolve) => { wake = resolve; })]);
}
