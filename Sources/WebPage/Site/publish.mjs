// The page that publishes the camera and microphone of this device, at /NAME/publish#TOKEN.

import { nearest } from "./addresses.mjs";
import { Devices, NO_MICROPHONE } from "./publish-devices.mjs";
import { Publisher } from "./publisher.mjs";
import { request } from "./requests.mjs";
import { pathBelow, root } from "./root.mjs";
import { viewersOf } from "./server.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
const page = `/${pathBelow().replace(/\/publish$/, "")}`;
const MESSAGES = {
  connecting: "Connecting…", live: "Live", waiting: "Connecting again…", taken: "Another camera is live.",
};
const CHOICE = "vidicon-publish-devices";

const token = tokenOfAddress();
const publisher = new Publisher(`${page}/whip`, token, show);
const devices = new Devices((kind) => exchange(
  kind, () => visible().then(() => devices.choose(kind, "")), "", kind === "video" ? "The camera is gone." : "The microphone is gone."));
let wakeLock = null;
/** The last change of a device; the next one waits for it. */
let changing = Promise.resolve();

/** Moves the token from the address to the session of the tab, so that it is not in bookmarks and shared links. */
function tokenOfAddress() {
  const key = `vidicon-publish-token:${root}${page.slice(1)}`, given = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  return stored(key, given) ?? given;
}

/** A value of the tab's session, after it was set to one that is not empty; null where the browser keeps none. */
function stored(key, value) {
  try {
    if (value) sessionStorage.setItem(key, value);
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

function show(state, message = MESSAGES[state]) {
  element("state").dataset.state = state;
  element("state").textContent = message;
  element("takeover").hidden = state !== "taken";
  if (state !== "refused") return;
  end();
  complain(message);
}

function complain(message) {
  element("problem").textContent = message;
  element("problem").hidden = !message;
}

const isPublishing = () => "publishing" in document.body.dataset;

async function start() {
  complain("");
  element("start").disabled = true;
  try {
    await changing;
    await devices.open();
    document.body.dataset.publishing = "";
    const shown = showDevices();
    publisher.start(devices.tracks);
    keepAwake();
    await shown;
  } catch (error) {
    publisher.stop();
    end();
    complain(error.name === "NotAllowedError"
      ? "This page may not use the camera. Permit it in the browser's settings, then tap Start."
      : `The camera cannot be used: ${error.message}`);
  } finally {
    element("start").disabled = false;
  }
}

function end() {
  devices.close();
  element("preview").srcObject = null;
  delete document.body.dataset.publishing;
  wakeLock?.release();
  wakeLock = null;
}

/** Resolves when the page is shown: one that is hidden gets no camera. */
async function visible() {
  if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}

/** Exchanges a device, and sends what is open then: where the other one fails, the first one again. */
function exchange(kind, choose, failure, problem = "") {
  changing = changing.then(async () => {
    if (!isPublishing()) return;
    await choose().catch((error) => { problem = `${problem || failure} ${error.message || error.name}`; });
    if (!isPublishing()) return devices.close();
    complain(problem);
    stored(CHOICE, JSON.stringify(devices.choice));
    await showDevices();
    if (devices.video) return publisher.replace(kind, devices[kind]);
    publisher.stop();
    end();
  }).catch((error) => complain(error.message));
  return changing;
}

/** Shows the open devices, and those that could be opened in their place. */
async function showDevices() {
  const { video, audio } = devices;
  if (video && element("preview").srcObject?.getVideoTracks()[0] !== video) showCamera(video);
  // One that was exchanged is as muted as the one before.
  if (audio) audio.enabled = element("mute").getAttribute("aria-pressed") !== "true";
  element("mute").hidden = !audio;
  const all = await devices.list();
  element("flip").hidden = all.video.length < 2;
  element("camera").hidden = all.video.length < 2;
  fill(element("camera"), all.video, video?.getSettings().deviceId ?? devices.choice.video);
  const microphones = all.audio.length > 0 ? all.audio : [{ deviceId: "", label: "With microphone" }];
  fill(element("microphone"), [...microphones, { deviceId: NO_MICROPHONE, label: "No microphone" }],
    isPublishing() ? audio?.getSettings().deviceId ?? NO_MICROPHONE : devices.choice.audio);
}

function fill(menu, entries, selected) {
  menu.replaceChildren(...entries.map(({ deviceId, label }) => new Option(label, deviceId)));
  menu.value = entries.some(({ deviceId }) => deviceId === selected) ? selected : entries[0]?.deviceId ?? "";
}

function showCamera(track) {
  element("preview").srcObject = new MediaStream([track]);
  const { torch, zoom } = track.getCapabilities?.() ?? {};
  element("torch").hidden = !torch;
  element("torch").setAttribute("aria-pressed", "false");
  element("zoom").parentElement.hidden = !zoom;
  if (zoom) Object.assign(element("zoom"), { min: zoom.min, max: zoom.max, step: zoom.step || 0.1, value: track.getSettings().zoom });
}

/** Sets a constraint of the camera. */
function constrain(constraint) {
  return devices.video?.applyConstraints({ advanced: [constraint] });
}

async function keepAwake() {
  wakeLock = await navigator.wakeLock?.request("screen").catch(() => null);
  if (!isPublishing()) wakeLock?.release();
}

async function toggle(button, apply) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  try {
    await apply(isOn);
    button.setAttribute("aria-pressed", `${isOn}`);
  } catch (error) {
    complain(error.message);
  }
}

async function measure() {
  if (!isPublishing()) return;
  const measured = await publisher.measure();
  const seen = measured && await request(`api/streams${page}/publisher`, { as: "json", cache: "no-store", token }).catch(() => null);
  const viewers = seen && viewersOf(seen);
  const isKnown = viewers > 0 && seen.latency !== undefined;
  element("network").textContent = measured ? `Network: ${measured.quality}` : "";
  element("facts").textContent = [
    measured?.width && text.size(measured.width, measured.height),
    seen && text.viewers(viewers) + (isKnown ? `, ${text.seconds(seen.latency / 1000)} behind` : ""),
  ].filter(Boolean).join(" · ");
}

/** Browsers have cameras for pages over HTTPS only. The token, which anybody on the network could read, is not sent. */
async function explainInsecurity() {
  element("insecure").hidden = false;
  const stream = await request(`api/streams${page}`, { as: "json", token: null, credentials: "omit" }).catch(() => null);
  const address = nearest(stream?.http?.filter((url) => url.startsWith("https:")), location.href);
  element("secure").hidden = !address;
  if (address) element("secure").href = `${address}/publish#${token ?? ""}`;
  // There is none where the owner has given a certificate.
  element("trust").hidden = !await request("ca?form=pem", { token: null }).catch(() => null);
}

element("name").textContent = decodeURIComponent(page.slice(1));
element("start").onclick = start;
element("stop").onclick = () => { publisher.stop(); end(); };
element("flip").onclick = () => exchange("video", () => devices.flip(), "The other camera cannot be used:");
element("takeover").onclick = () => publisher.takeOver();
element("mute").onclick = ({ currentTarget }) => toggle(currentTarget, (isOn) => { if (devices.audio) devices.audio.enabled = !isOn; });
element("torch").onclick = ({ currentTarget }) => toggle(currentTarget, (torch) => constrain({ torch }));
element("zoom").oninput = ({ target }) => constrain({ zoom: Number(target.value) })?.catch(() => {});
for (const [id, kind, failure] of [
  ["camera", "video", "This camera cannot be used:"], ["microphone", "audio", "This microphone cannot be used:"],
]) {
  element(id).onchange = ({ target }) => {
    devices.choice[kind] = target.value;
    stored(CHOICE, JSON.stringify(devices.choice));
    exchange(kind, () => devices.choose(kind, target.value), failure);
  };
}
addEventListener("online", () => publisher.recover());
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !isPublishing()) return;
  keepAwake();
  publisher.recover();
});
setInterval(measure, 2000);
if (!isSecureContext || !navigator.mediaDevices || !token) {
  for (const id of ["view", "devices", "start"]) element(id).hidden = true;
  if (!isSecureContext || !navigator.mediaDevices) explainInsecurity();
  else complain("This address lacks the token: scan the QR code on the server's terminal, or on the operator's page.");
} else {
  Object.assign(devices.choice, JSON.parse(stored(CHOICE) ?? "{}"));
  navigator.mediaDevices.addEventListener("devicechange", showDevices);
  showDevices();
}
