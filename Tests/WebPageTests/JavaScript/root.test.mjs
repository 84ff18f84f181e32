import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { addressesOf } from "../../../Sources/WebPage/Site/addresses.mjs";
import { pathBelow, root, rootOf, urlOf } from "../../../Sources/WebPage/Site/root.mjs";

const site = new URL("../../../Sources/WebPage/Site/", import.meta.url);

/** The module as a server below a path sends it to a page: with another address, and so another root. */
async function below(path, page) {
  globalThis.location = { href: `https://host${page}`, pathname: page };
  const text = readFileSync(new URL("root.mjs", site), "utf8")
    .replace("import.meta.url", JSON.stringify(`https://host${path}_page/root.mjs`));
  return await import(`data:text/javascript,${encodeURIComponent(text)}`);
}

test("the root is the folder above that of the modules", () => {
  for (const [module, path] of [
    ["http://10.0.0.5:8080/_page/root.mjs", "/"], ["https://host/cam/_page/root.mjs", "/cam/"],
    ["https://host/api/hassio_ingress/a-B_c/_page/root.mjs?x", "/api/hassio_ingress/a-B_c/"],
    ["https://anna:sesame@host/cam%20a/_page/root.mjs", "/cam%20a/"], ["file:///a/b/root.mjs", "/"],
  ]) assert.equal(rootOf(module), path, module);
  assert.equal(root, "/");
});

test("paths of responses are below the root, and URLs are unchanged", async () => {
  for (const [path, page] of [["/cam/", "/cam/live?way=native#control=a"], ["/api/hassio_ingress/x/", "/api/hassio_ingress/x/"]]) {
    const { urlOf } = await below(path, page);
    assert.equal(urlOf("api/streams").href, `https://host${path}api/streams`);
    assert.equal(urlOf("/live/index.m3u8?a=b").href, `https://host${path}live/index.m3u8?a=b`);
    assert.equal(urlOf("https://host/cam/live/low.m3u8").href, "https://host/cam/live/low.m3u8");
  }
});

test("no path of a page or a response leads to another host", async () => {
  const { urlOf: odd } = await below("//evil.example/", "//evil.example/live");
  for (const url of [odd("api/streams"), odd("/live"), odd("//evil.example/x")]) assert.equal(url.host, "host");
  globalThis.location = { href: "http://h/live", pathname: "/live" };
  assert.equal(urlOf("//evil.example/x").href, "http://h/evil.example/x");
});

test("servers below two paths of a site keep their operator tokens apart", async () => {
  const keys = [];
  globalThis.sessionStorage = { getItem: () => null, setItem: (key) => keys.push(key), removeItem: () => {} };
  globalThis.history = { replaceState: () => {} };
  globalThis.location = { href: "https://host/cam/live", pathname: "/cam/live", search: "", hash: "#control=abc" };
  const text = readFileSync(new URL("operator-token.mjs", site), "utf8");
  for (const path of ["/", "/cam/", "/door/"]) {
    const module = text.replace(/^import .*$/m, `const root = ${JSON.stringify(path)};`);
    const { operatorToken } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    assert.equal(operatorToken(), "abc");
  }
  assert.deepEqual(keys, ["vidicon-operator-token", "vidicon-operator-token:/cam/", "vidicon-operator-token:/door/"]);
});

test("the name of a stream is the path of its page below the root", () => {
  for (const [base, path, name] of [
    ["/", "/live", "live"], ["/", "/a/b/", "a/b"], ["/cam/", "/cam/live", "live"], ["/cam/", "/cam/", ""],
    ["/cam/", "/cam/cam/x", "cam/x"], ["/cam/", "/other", "other"], ["/", "/live/publish", "live/publish"],
  ]) assert.equal(pathBelow(base, path), name);
  globalThis.location = { href: "http://h/live", pathname: "/live" };
  assert.equal(pathBelow(), "live");
});

test("addresses to share have the path of the proxy, and those of the server itself have not", () => {
  const stream = {
    page: "/live", hls: "/live/index.m3u8", rtsp: ["rtsp://10.0.0.5/live"], http: ["http://10.0.0.5:8080/live"],
  };
  const of = (page) => addressesOf(stream, page, "/cam/").map(({ address }) => address);
  assert.deepEqual(of("https://host/cam/live"),
    ["https://host/cam/live", "rtsp://10.0.0.5/live", "https://host/cam/live/index.m3u8"]);
  assert.deepEqual(of("http://localhost/cam/live"),
    ["http://10.0.0.5:8080/live", "rtsp://10.0.0.5/live", "http://10.0.0.5:8080/live/index.m3u8"]);
});

test("no script names an address from the root of its host", () => {
  const names = readdirSync(site).filter((name) => name.endsWith(".mjs"));
  assert.ok(names.length > 30);
  for (const name of names) {
    const code = readFileSync(new URL(name, site), "utf8").replace(/^\s*(\/\/|\/?\*).*$/gm, "");
    assert.deepEqual(code.match(/["'`]\/(api|_page|ca|recordings)\b[^"'`]*/g), null, name);
    if (name !== "root.mjs") assert.doesNotMatch(code, /new URL\([^)]*location\.|(?<![#\w])fetch\((?!urlOf\()/, name);
  }
});
