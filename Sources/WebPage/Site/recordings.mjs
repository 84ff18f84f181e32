// The page that lists what was recorded.

import { pause, request } from "./requests.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Seconds between two questions. */
const INTERVAL = 4;
/** The rows that are shown, by the address of their file. */
const rows = new Map();

function rowFor(recording) {
  const item = element("row").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  find(".name").textContent = recording.name;
  find(".play").setAttribute("aria-label", `Play ${recording.name}`);
  find(".play").addEventListener("click", () => play(recording));
  find(".save").setAttribute("aria-label", `Download ${recording.name}`);
  find(".save").href = recording.file;
  return { item, find };
}

function update({ find }, recording) {
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
    // What is in its place stays there: moved, it would lose the focus.
    const at = element("rows").children[index];
    if (at !== row.item) element("rows").insertBefore(row.item, at ?? null);
  });
  const listed = recordings.length < total ? ` · the last ${recordings.length} are listed` : "";
  write(element("count"), total === 0 ? "" : `${text.files(total)} · ${text.bytes(bytes)}${listed}`);
  element("empty").hidden = recordings.length > 0;
  element("rows").hidden = recordings.length === 0;
  element("problem").hidden = true;
}

function fail(error) {
  write(element("problem"), error.status === 0
    ? "There is no connection to the camera. It is tried again and again." : `${error.message} It is asked again.`);
  element("problem").hidden = false;
}

function play(recording) {
  element("theatre-name").textContent = recording.name;
  element("film").src = recording.file;
  element("theatre").showModal();
  element("film").play().catch(() => {}); // It has controls.
}

// Closed, nothing more is asked of the server.
element("theatre").addEventListener("close", () => {
  element("film").removeAttribute("src");
  element("film").load();
});
// A click beside the dialog closes it.
element("theatre").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});

function write(where, what) {
  if (where.textContent !== what) where.textContent = what;
}

let early = () => {};
document.addEventListener("visibilitychange", () => early());
for (;;) {
  if (!document.hidden) {
    try {
      show(await request("/api/recordings", { as: "json", cache: "no-store", seconds: 10 }));
    } catch (error) {
      fail(error);
    }
  }
  await Promise.race([pause(INTERVAL), new Promise((resolve) => { early = resolve; })]);
}
