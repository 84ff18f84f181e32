// As much of a browser as a panel of the page needs: elements without a look, a clock that goes when it is told to, and a
// server that is a function. To be imported before the module under test is.

/** An element of whatever kind. */
class FakeElement {
  constructor(name) {
    this.name = name;
    Object.assign(this, { hidden: false, open: false, textContent: "", value: "", children: [], dataset: {}, style: {} });
    this.attributes = {};
    this.listeners = {};
    this.classes = new Set();
    this.classList = {
      toggle: (name, isOn) => isOn ? this.classes.add(name) : this.classes.delete(name),
      remove: (name) => this.classes.delete(name),
    };
  }

  setAttribute(name, value) { this.attributes[name] = String(value); }
  getAttribute(name) { return this.attributes[name] ?? null; }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  querySelector(name) { return this.children.find((child) => child.name === name) ?? null; }
  getBoundingClientRect() { return { top: 0, bottom: 10 }; }
  addEventListener(kind, listener) { (this.listeners[kind] ??= []).push(listener); }

  /** Has something happen to it. */
  happen(kind) {
    this[`on${kind}`]?.();
    for (const listener of this.listeners[kind] ?? []) listener();
  }
}

const elements = new Map(), timers = new Map();
let time = 0, count = 0;

/** The element of an id, which is made when it is asked for. */
export function element(id) {
  if (!elements.has(id)) elements.set(id, new FakeElement(id));
  return elements.get(id);
}

const later = globalThis.setImmediate;
/** Lets everything happen that needs no time. */
export const settle = () => new Promise((resolve) => later(resolve));

/** Lets seconds go by. */
export async function wait(seconds) {
  const end = time + seconds * 1000;
  await settle();
  for (;;) {
    const [next] = [...timers].filter(([, timer]) => timer.time <= end).sort(([, a], [, b]) => a.time - b.time);
    if (!next) break;
    timers.delete(next[0]);
    time = next[1].time;
    next[1].run();
    await settle();
  }
  time = end;
}

/** What was asked of the server: `{url, method, json}`; an answer is JSON, or an error's text. */
export const server = { asked: [], answer: () => ({}) };

Object.assign(globalThis, {
  document: { getElementById: element, createElement: (name) => new FakeElement(name), hidden: false, activeElement: null },
  innerHeight: 100,
  location: { href: "http://10.0.0.5:8080/cam" },
  Option: class extends FakeElement {
    constructor(label, value) { super("option"); Object.assign(this, { label, value }); }
  },
  setTimeout: (run, milliseconds) => { timers.set(++count, { time: time + milliseconds, run }); return count; },
  clearTimeout: (number) => timers.delete(number),
  fetch: async (url, { method = "GET", body } = {}) => {
    const asked = { url: url.pathname, method, json: body && JSON.parse(body) };
    server.asked.push(asked);
    const answer = await server.answer(asked);
    return { ok: true, json: async () => answer };
  },
});
Object.defineProperty(globalThis, "performance", { value: { now: () => time }, configurable: true });
