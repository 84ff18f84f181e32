// A fake browser for the panels of the page: elements without layout, a virtual clock, and a server function. Import it before
// the module under test.

/** An element of any kind. */
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

  /** Dispatches an event. */
  happen(kind) {
    this[`on${kind}`]?.();
    for (const listener of this.listeners[kind] ?? []) listener();
  }
}

const elements = new Map(), timers = new Map();
let time = 0, count = 0;

/** The element with an id, created on first use. */
export function element(id) {
  if (!elements.has(id)) elements.set(id, new FakeElement(id));
  return elements.get(id);
}

const later = globalThis.setImmediate;
/** Runs pending microtasks and immediates. */
export const settle = () => new Promise((resolve) => later(resolve));

/** Advances the virtual clock by a number of seconds. */
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

/** Received requests, `{url, method, json}` with an uploaded file as `json`; `respond` returns JSON or an error. */
export const server = { requests: [], respond: () => ({}) };

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
    const request = { url: url.pathname, method, json: typeof body === "string" ? JSON.parse(body) : body };
    server.requests.push(request);
    const response = await server.respond(request);
    if (response instanceof Error) return { ok: false, status: 400, text: async () => response.message };
    return { ok: true, json: async () => response, blob: async () => response };
  },
});
Object.defineProperty(globalThis, "performance", { value: { now: () => time }, configurable: true });
