// The page with the list of streams.

import { urlOf } from "./root.mjs";
import { hasSignal, viewersOf, watchStreams } from "./server.mjs";
import { Thumbnail } from "./thumbnails.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Cards by stream name. */
const cards = new Map();

function cardFor(stream) {
  const item = element("card").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  find("a").href = urlOf(stream.page).href;
  find(".name").textContent = stream.name;
  element("cards").append(item);
  const thumbnail = new Thumbnail(find("img"), (width) => `${stream.snapshot}?width=${width}`);
  return { item, find, thumbnail };
}

function update({ find }, stream) {
  const badge = find(".badge");
  badge.dataset.state = hasSignal(stream) ? "live" : "nosignal";
  badge.textContent = hasSignal(stream) ? "Live" : "No signal";
  const { width, height, frameRate } = stream.video ?? {};
  const count = viewersOf(stream);
  find(".details").textContent = [
    text.size(width, height), frameRate && text.frameRate(frameRate), text.viewers(count),
  ].filter(Boolean).join(" · ");
}

function show(streams) {
  const names = new Set(streams.map((stream) => stream.name));
  for (const [name, card] of cards) {
    if (names.has(name)) continue;
    card.thumbnail.close();
    card.item.remove();
    cards.delete(name);
  }
  for (const stream of streams) {
    if (!cards.has(stream.name)) cards.set(stream.name, cardFor(stream));
    update(cards.get(stream.name), stream);
  }
  element("empty").hidden = streams.length > 0;
  element("recordings").hidden = !streams.some((stream) => stream.recording);
  element("problem").hidden = true;
  element("cards").classList.remove("stale");
  write(element("count"), streams.length === 0 ? "" : `${streams.length} live`);
}

function fail(error) {
  write(element("problem"), error.status === 0
    ? "No connection to the camera. Retrying." : `${error.message} Retrying.`);
  element("problem").hidden = false;
  element("cards").classList.add("stale");
}

/** Sets a text only if it differs: screen readers announce each change. */
function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

watchStreams(show, fail);
