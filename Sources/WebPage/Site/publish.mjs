// The page that publishes the camera and microphone of this device, at /NAME/publish#TOKEN.

import { Publisher } from "./publisher.mjs";
import { request } from "./requests.mjs";
import { pathBelow, root } from "./root.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
const page = `/${pathBelow().replace(/\/publish$/, "")}`;
const MESSAGES = {
  connecting: "Connecting…", live: "Live", waiting: "Connecting again…", taken: "Another camera is live.",
};

const token = tokenOfAddress();
const publisher = new Publisher(`${page}/whip`, token, show);
let media = null, facing = "environment", wakeLock = null;
/** Whether this device may see the stream's state: not where watching needs a password. */
let maySee = true;

/** Moves the token from the address to the session of the tab, so that it is not in bookmarks and shared links. */
function tokenOfAddress() {
  const key = `vidicon-publish-token:${root}${page.slice(1)}`, given = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  try {
    if (given) sessionStorage.setItem(key, given);
    return given || sessionStorage.getItem(key);
  } catch {
    return given;
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

const video = () => media?.getVideoTracks()[0];
const audio = () => media?.getAudioTracks()[0];

/** Opens the camera that faces this way; devices with one camera ignore that. */
async function openCamera(withAudio) {
  const constraints = { facingMode: facing, width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
  const plain = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const opened = await navigator.mediaDevices.getUserMedia({ video: constraints, audio: withAudio && plain });
  const [track] = opened.getVideoTracks();
  track.contentHint = "motion";
  track.addEventListener("ended", () => { if (track === video()) complain("The camera has stopped."); });
  const { torch, zoom } = track.getCapabilities?.() ?? {};
  element("torch").hidden = !torch;
  element("torch").setAttribute("aria-pressed", "false");
  element("zoom").parentElement.hidden = !zoom;
  if (zoom) Object.assign(element("zoom"), { min: zoom.min, max: zoom.max, step: zoom.step || 0.1, value: track.getSettings().zoom });
  return opened;
}

async function start() {
  complain("");
  element("start").disabled = true;
  try {
    media = await openCamera(true).catch((error) => error.name === "NotFoundError" ? openCamera(false) : Promise.reject(error));
    element("preview").srcObject = media;
    document.body.dataset.publishing = "";
    element("flip").hidden = (await navigator.mediaDevices.enumerateDevices()).filter(({ kind }) => kind === "videoinput").length < 2;
    element("mute").hidden = !audio();
    publisher.start(media.getTracks());
    keepAwake();
  } catch (error) {
    end();
    complain(error.name === "NotAllowedError"
      ? "This page may not use the camera. Permit it in the browser's settings, then tap Start."
      : `The camera cannot be used: ${error.message}`);
  } finally {
    element("start").disabled = false;
  }
}

function end() {
  for (const track of media?.getTracks() ?? []) track.stop();
  media = element("preview").srcObject = null;
  delete document.body.dataset.publishing;
  wakeLock?.release();
  wakeLock = null;
}

/** Phones hold one camera at a time: the first is closed before the other one is opened. */
async function flip() {
  video().stop();
  facing = facing === "environment" ? "user" : "environment";
  const [track] = (await openCamera(false)).getVideoTracks();
  media = new MediaStream([track, ...media.getAudioTracks()]);
  element("preview").srcObject = media;
  await publisher.replace(track);
}

async function keepAwake() {
  wakeLock = await navigator.wakeLock?.request("screen").catch(() => null);
}

function toggle(button, apply) {
  const isOn = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", `${isOn}`);
  apply(isOn);
}

async function measure() {
  if (!media) return;
  const measured = await publisher.measure();
  const stream = maySee && await request(`api/streams${page}`, { as: "json", token }).catch(({ status }) => { maySee = !status; });
  element("network").textContent = measured && `Network: ${measured.quality}`;
  element("facts").textContent = [
    measured && text.size(measured.width, measured.height),
    stream && text.viewers(Object.values(stream.viewers).reduce((sum, count) => sum + count, 0)),
  ].filter(Boolean).join(" · ");
}

/** Browsers have cameras for pages over HTTPS only. */
async function explainInsecurity() {
  element("start").hidden = true;
  element("insecure").hidden = false;
  const stream = await request(`api/streams${page}`, { as: "json", token }).catch(() => null);
  const address = stream?.http?.find((url) => url.startsWith("https:"));
  element("secure").hidden = !address;
  if (address) element("secure").href = `${address}/publish#${token ?? ""}`;
  // There is none where the owner has given a certificate.
  element("trust").hidden = !await request("ca?form=pem").catch(() => null);
}

element("name").textContent = decodeURIComponent(page.slice(1));
element("start").onclick = start;
element("stop").onclick = () => { publisher.stop(); end(); };
element("flip").onclick = () => flip().catch((error) => complain(error.message));
element("takeover").onclick = () => publisher.takeOver();
element("mute").onclick = ({ currentTarget }) => toggle(currentTarget, (isOn) => { audio().enabled = !isOn; });
element("torch").onclick = ({ currentTarget }) => toggle(currentTarget, (torch) => video().applyConstraints({ advanced: [{ torch }] }));
element("zoom").oninput = ({ target }) => video()?.applyConstraints({ advanced: [{ zoom: Number(target.value) }] });
addEventListener("online", () => publisher.recover());
document.addEventListener("visibilitychange", () => {
  if (document.hidden || !media) return;
  keepAwake();
  publisher.recover();
});
setInterval(measure, 2000);
if (!isSecureContext || !navigator.mediaDevices) explainInsecurity();
else if (!token) {
  element("start").hidden = true;
  complain("This address lacks the token: scan the QR code on the server's terminal.");
}
