// Every module of the page can be read. Those that are a page's own cannot be loaded here, for want of a document.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const site = new URL("../../../Sources/WebPage/Site/", import.meta.url);

for (const name of readdirSync(site).filter((file) => file.endsWith(".mjs"))) {
  test(`${name} can be read`, () => {
    const check = spawnSync(process.execPath, ["--check", fileURLToPath(new URL(name, site))], { encoding: "utf8" });
    assert.equal(check.status, 0, check.stderr);
  });
}
