import assert from "node:assert/strict";
import { test } from "node:test";
import { element, server, settle, wait } from "./browser.mjs";

globalThis.sessionStorage = { getItem: () => "operator-token", setItem: () => {}, removeItem: () => {} };
document.addEventListener = () => {};
/** URLs of links that the page has followed. */
const followed = [];
const create = document.createElement;
document.createElement = (name) => Object.assign(create(name), { click() { followed.push(this.href); } });
element("row").content = {
  cloneNode: () => {
    const [row, parts] = [create("li"), {}];
    row.querySelector = (selector) => parts[selector] ??= create(selector);
    return { firstElementChild: row };
  },
};
element("rows").insertBefore = (row) => element("rows").children.push(row);
element("theatre").showModal = () => {};
element("film").play = async () => {};

const ORIGIN = new URL(location.href).origin;
const FILE = { stream: "cam", name: "a.mp4", file: "/recordings/cam/a.mp4", bytes: 1, modifiedAt: "2026-11-22T10:00:00Z", finished: true };
let ticket = "1";
server.respond = () => ({ recordings: [{ ...FILE, ticket }], total: 1, bytes: 1 });
// The script runs as long as the page.
import("../../../Sources/WebPage/Site/recordings.mjs");
while (element("rows").children.length === 0) await settle();

const row = element("rows").children[0];
/** Presses an element of the row; returns whether the browser follows its link. */
function press(selector) {
  let follows = true;
  for (const listener of row.querySelector(selector).listeners.click) listener({ preventDefault: () => { follows = false; } });
  return follows;
}

test("links have neither token nor ticket; downloads and the player have the newest ticket", async () => {
  assert.equal(row.querySelector(".save").href, `${ORIGIN}/recordings/cam/a.mp4`);
  assert.equal(press(".save"), false);
  ticket = "2";
  await wait(5);
  press(".save");
  press(".play");
  assert.deepEqual(followed, [`${ORIGIN}/recordings/cam/a.mp4?ticket=1`, `${ORIGIN}/recordings/cam/a.mp4?ticket=2`]);
  assert.equal(element("film").src, `${ORIGIN}/recordings/cam/a.mp4?ticket=2`);
});

test("without a ticket the link is followed as it is", async () => {
  ticket = undefined;
  await wait(5);
  assert.equal(press(".save"), true);
  press(".play");
  assert.equal(element("film").src, `${ORIGIN}/recordings/cam/a.mp4`);
});
