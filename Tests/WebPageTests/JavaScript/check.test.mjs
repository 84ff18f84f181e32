import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { element, server, settle } from "./browser.mjs";

element("address").content = { cloneNode: () => {
  const row = document.createElement("li");
  row.append(...["strong", ".quiet", "code", ".copy", ".show"].map((name) => document.createElement(name)));
  row.querySelector(".copy").append(document.createElement("use"));
  return { firstElementChild: row };
} };
const { CheckPanel, summarize } = await import("../../../Sources/WebPage/Site/check.mjs");

const OPERATOR = { name: "cam", role: "operator", steerable: true };
const finding = (verdict, subject, more) => ({ part: "ports", subject, verdict, meaning: `${subject} is so`, ...more });
const REPORT = { verdict: "fault", age: 0, findings: [
  finding("ok", "a"), finding("warning", "b", { advice: "do this" }), finding("fault", "c", { command: "mkdir -p /a" }), finding("ok", "d"),
] };
const panel = new CheckPanel();
const state = () => element("check-state").textContent;
/** The findings as the names of elements, with the text of titles and the subjects of lists. */
const shown = () => element("check-findings").children.map((part) => {
  const [first, list] = part.name === "details" ? part.children : [part, part];
  const subjects = list.children.map((row) => row.querySelector("strong").textContent);
  return [part.name, ...(list === first && part.name === "ul" ? [] : [first.textContent]), ...subjects];
});
const rows = () => element("check-findings").children.flatMap(({ name, children }) => name === "ul" ? children : []);
let answer = () => REPORT;

const check = async () => {
  element("check-start").happen("click");
  await settle();
};

beforeEach(async () => {
  answer = () => REPORT;
  server.respond = () => answer();
  panel.stream = OPERATOR;
  await settle();
  server.requests.length = 0;
});

test("faults come first, then warnings, and what is all right is folded", async () => {
  await check();
  assert.deepEqual(server.requests, [{ url: "/api/check", method: "POST", json: {} }]);
  assert.equal(state(), "1 fault, 1 warning");
  assert.deepEqual(shown(), [
    ["h3", "Faults"], ["ul", "c"], ["h3", "Warnings"], ["ul", "b"], ["details", "2 checks are all right", "a", "d"]]);
  assert.equal(element("check-findings").children[4].open, false);
});

test("each finding has its meaning, and the advice or the command that mends it", async () => {
  await check();
  const [fault, warning] = rows();
  const [meaning, command, copy] = [".quiet", "code", ".copy"].map((name) => fault.querySelector(name));
  assert.deepEqual([meaning.textContent, command.textContent, command.hidden, copy.hidden], ["c is so", "mkdir -p /a", false, false]);
  assert.equal(copy.attributes["aria-label"], "Copy command: c");
  assert.equal(warning.querySelector(".quiet").textContent, "b is so: do this");
  assert.ok(["code", ".copy", ".show"].every((name) => warning.querySelector(name).hidden));
});

test("the command is copied, which is said", async () => {
  const copied = [];
  Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText: async (text) => copied.push(text) } }, configurable: true });
  globalThis.window = { isSecureContext: true };
  await check();
  const button = rows()[0].querySelector(".copy");
  for (const listener of button.listeners.click) listener({ currentTarget: button });
  await settle();
  assert.deepEqual([copied, element("said").textContent], [["mkdir -p /a"], "Copied: c"]);
});

test("one check runs at a time, and its button keeps the focus", async () => {
  let respond;
  answer = () => new Promise((resolve) => { respond = resolve; });
  await check();
  await check();
  assert.equal(server.requests.length, 1);
  assert.equal(element("check-start").attributes["aria-disabled"], "true");
  assert.deepEqual([state().startsWith("Checking"), shown()], [true, []]);
  respond(REPORT);
  await settle();
  assert.deepEqual([state(), element("check-start").attributes["aria-disabled"]], ["1 fault, 1 warning", "false"]);
  answer = () => REPORT;
  await check();
  assert.equal(server.requests.length, 2);
});

test("a refusal is shown in place of the findings, and the check can be tried again", async () => {
  await check();
  answer = () => new Error("this server has no check");
  await check();
  assert.deepEqual([state(), shown()], ["this server has no check", []]);
  answer = () => REPORT;
  await check();
  assert.equal(state(), "1 fault, 1 warning");
});

test("viewers have no panel, and what an operator saw is not kept for them", async () => {
  await check();
  // The server starts again.
  panel.stream = null;
  assert.equal(element("check").hidden, true);
  panel.stream = OPERATOR;
  assert.deepEqual([element("check").hidden, shown().length], [false, 5]);
  for (const role of ["viewer", undefined]) {
    await check();
    panel.stream = { ...OPERATOR, role };
    assert.deepEqual([element("check").hidden, state(), shown()], [true, "", []]);
    panel.stream = OPERATOR;
  }
  let respond;
  answer = () => new Promise((resolve) => { respond = resolve; });
  await check();
  panel.stream = { ...OPERATOR, role: "viewer" };
  respond(REPORT);
  await settle();
  assert.deepEqual([state(), shown()], ["", []]);
});

test("a sentence has the numbers, and the age of an earlier report", () => {
  const of = (age, ...verdicts) => summarize({ age, findings: verdicts.map((verdict) => finding(verdict, "a")) });
  assert.equal(of(0, "ok", "ok"), "Everything is all right");
  assert.equal(of(8, "ok", "ok"), "Everything is all right, as found 8 s ago");
  assert.equal(of(0, "fault", "ok", "fault", "warning"), "2 faults, 1 warning");
  assert.equal(of(3, "warning", "warning"), "2 warnings, as found 3 s ago");
});
