import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { element, server, settle } from "./browser.mjs";

element("address").content = { cloneNode: () => {
  const row = document.createElement("li");
  row.append(...["strong", ".quiet", "code", ".copy", ".show"].map((name) => document.createElement(name)));
  return { firstElementChild: row };
} };
element("code").showModal = () => {};
const { showAddresses } = await import("../../../Sources/WebPage/Site/share.mjs");

const STREAM = {
  name: "cam", page: "/cam", snapshot: "/cam/snapshot.jpg", whip: "/cam/whip", rtsp: [], http: ["http://10.0.0.5:8080/cam"],
  startedAt: "1", role: "operator",
};
const rows = (id) => element(id).children.map((row) => row.querySelector("code").textContent);
const requested = () => server.requests.map(({ url, method }) => `${method} ${url}`);
let token = "TOKEN", fails = false;

const show = async (changes) => {
  showAddresses({ ...STREAM, ...changes });
  await settle();
};

beforeEach(async () => {
  [token, fails] = ["TOKEN", false];
  server.respond = ({ url }) => {
    if (fails) return new Error("no");
    return url === "/api/qr.svg" ? new Blob(["<svg/>"]) : { pages: ["https://10.0.0.5:8443/cam/publish"], token };
  };
  await show({ role: "viewer" });
  server.requests.length = 0;
});

test("operators see where a camera is sent to, and the token is requested once", async () => {
  await show();
  await show();
  assert.deepEqual(requested(), ["GET /api/streams/cam/publisher"]);
  assert.deepEqual(rows("publish-addresses"), [
    "https://10.0.0.5:8443/cam/publish#TOKEN", "https://10.0.0.5:8443/cam/whip", "TOKEN"]);
  assert.equal(element("publish").hidden, false);
  // Another start of the stream has another token.
  token = "NEXT";
  await show({ startedAt: "2" });
  assert.equal(rows("publish-addresses")[2], "NEXT");
});

test("viewers and streams of other sources have nothing of it", async () => {
  await show();
  for (const changes of [{ role: "viewer" }, { role: "viewer", steerable: true }, { whip: undefined }]) {
    await show();
    server.requests.length = 0;
    await show(changes);
    assert.deepEqual([requested(), rows("publish-addresses"), element("publish").hidden], [[], [], true]);
    assert.ok(rows("addresses").length > 0);
  }
});

test("a token that cannot be read is requested again with the next list", async () => {
  fails = true;
  await show();
  assert.equal(element("publish").hidden, true);
  fails = false;
  await show();
  assert.equal(rows("publish-addresses").length, 3);
});

test("a token of the user file is not shown", async () => {
  token = undefined;
  await show();
  assert.deepEqual([rows("publish-addresses"), element("publish").hidden], [[], true]);
});

test("the text of a code with a token is in the body of a request, never in an address", async () => {
  await show();
  server.requests.length = 0;
  const [phone, whip] = element("publish-addresses").children;
  phone.querySelector(".show").happen("click");
  await settle();
  await settle();
  assert.deepEqual(requested(), ["POST /api/qr.svg"]);
  assert.equal(await server.requests[0].json.text(), "https://10.0.0.5:8443/cam/publish#TOKEN");
  assert.match(element("code-image").src, /^blob:/);
  whip.querySelector(".show").happen("click");
  await settle();
  assert.match(element("code-image").src, /\/api\/qr\.svg\?text=https%3A/);
});
