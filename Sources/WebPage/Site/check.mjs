// The panel that checks the machine of the server, for operators.

import { request } from "./requests.mjs";
import { copyFrom, label } from "./share.mjs";

const element = (id) => document.getElementById(id);
/** Maximum time of a check with its request, in seconds. */
const TIMEOUT = 20;

/** The numbers of findings in a sentence, with the age of the report where it is an earlier one. Pure. */
export function summarize({ findings, age }) {
  const counts = ["fault", "warning"].map((verdict) => countOf(findings, verdict)).filter(Boolean);
  return (counts.join(", ") || "Everything is all right") + (age > 0 ? `, as found ${age} s ago` : "");
}

function countOf(findings, verdict) {
  const count = findings.filter((finding) => finding.verdict === verdict).length;
  return count && `${count} ${verdict}${count === 1 ? "" : "s"}`;
}

export class CheckPanel {
  #isBusy = false;

  constructor() {
    element("check-start").onclick = () => this.#check();
  }

  /** Sets the stream as `/api/streams` describes it; null while there is none. */
  set stream(stream) {
    element("check").hidden = stream?.role !== "operator";
    if (stream && element("check").hidden) show("", []);
  }

  async #check() {
    if (this.#isBusy) return;
    this.#setBusy(true);
    show("Checking. This takes some seconds.", []);
    try {
      const report = await request("api/check", { json: {}, as: "json", cache: "no-store", seconds: TIMEOUT });
      show(summarize(report), report.findings);
    } catch (error) {
      show(error.message, []);
    }
    this.#setBusy(false);
    // An operator may have ended control meanwhile.
    if (element("check").hidden) show("", []);
  }

  /** The button keeps the focus, which a disabled one would lose. */
  #setBusy(isBusy) {
    this.#isBusy = isBusy;
    element("check-start").setAttribute("aria-disabled", isBusy);
  }
}

/** Shows faults, then warnings, and folds what is all right. */
function show(state, findings) {
  element("check-state").textContent = state;
  const found = [["Faults", "fault"], ["Warnings", "warning"]].filter(([, verdict]) => countOf(findings, verdict))
    .flatMap(([title, verdict]) => [create("h3", title), listOf(findings, verdict)]);
  const rest = listOf(findings, "ok"), count = rest.children.length;
  if (count > 0) {
    const details = create("details");
    details.append(create("summary", count === 1 ? "1 check is all right" : `${count} checks are all right`), rest);
    found.push(details);
  }
  element("check-findings").replaceChildren(...found);
}

function listOf(findings, verdict) {
  const list = create("ul");
  list.className = "addresses";
  list.append(...findings.filter((finding) => finding.verdict === verdict).map(row));
  return list;
}

function row({ subject, meaning, command, advice }) {
  const item = element("address").content.cloneNode(true).firstElementChild;
  const find = (selector) => item.querySelector(selector);
  find("strong").textContent = subject;
  find(".quiet").textContent = advice ? `${meaning}: ${advice}` : meaning;
  find("code").textContent = command ?? "";
  find("code").setAttribute("aria-label", `Command for ${subject}: ${command}`);
  label(find(".copy"), `Copy command: ${subject}`, "Copy");
  find(".copy").addEventListener("click", (event) => copyFrom(event.currentTarget, subject, command));
  find("code").hidden = find(".copy").hidden = !command;
  find(".show").hidden = true;
  return item;
}

function create(name, text = "") {
  return Object.assign(document.createElement(name), { textContent: text });
}
