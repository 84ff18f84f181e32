// Syntax check of every module. Modules that need a document cannot be imported here.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const site = new URL("../../../Sources/WebPage/Site/", import.meta.url);

for (const name of readdirSync(site).filter((file) => file.endsWith(".mjs"))) {
  test(`${name} has valid syntax`, () => {
    const check = spawnSync(process.execPath, ["--check", fileURLToPath(new URL(name, site))], { encoding: "utf8" });
    assert.equal(check.status, 0, check.stderr);
  });
}
