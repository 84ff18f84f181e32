// The page that lists the streams.

import { hasSignal, viewersOf, watchStreams } from "./server.mjs";
import { Thumbnail } from "./thumbnails.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** The cards that are shown, by the name of their stream. */
const cards = new Map();

function cardFor(stream) {
  const item = element("card").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  find("a").href = stream.page;
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
  say(element("count"), streams.length === 0 ? "" : `${streams.length} live`);
}

function fail(error) {
  say(element("problem"), error.status === 0
    ? "There is no connection to the camera. It is tried again and again." : `${error.message} It is asked again.`);
  element("problem").hidden = false;
  element("cards").classList.add("stale");
}

/** Changes a text only where it differs: a screen reader reads each change. */
function say(where, what) {
  if (where.textContent !== what) where.textContent = what;
}

watchStreams(show, fail);
