// The page that plays a stream.

import { CheckPanel } from "./check.mjs";
import { Controls } from "./controls.mjs";
import { EffectsPanel } from "./effects-panel.mjs";
import { Facts } from "./facts.mjs";
import { Login } from "./login.mjs";
import { PushPanel } from "./pushes.mjs";
import { RecordingBar } from "./recorder.mjs";
import { pathBelow, urlOf } from "./root.mjs";
import { hasSignal, watchStreams } from "./server.mjs";
import { Session } from "./session.mjs";
import { showAddresses } from "./share.mjs";
import { SourcePanel } from "./source-panel.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
const video = element("video");
const name = nameInAddress();
/** Latency above which the badge offers to go live, in seconds. */
const BEHIND = 12;
/** Time after which a hidden page without audible audio is suspended, in milliseconds. */
const HIDDEN = 8000;

/** The stream from the last list; null while it does not exist. */
let stream = null;
let startedAt = null;
/** Whether the server responds; null before the first response. */
let isOnline = null;
let isSuspended = false;
let hiding = null;

const session = new Session({ video, image: element("image") }, show, () => controls.begin());
const controls = new Controls(session, name);
const facts = new Facts(video, session);
const recording = new RecordingBar();
const panel = new SourcePanel();
const effects = new EffectsPanel(video, session);
const pushes = new PushPanel();
const check = new CheckPanel();
const login = new Login();

element("name").textContent = name;
document.title = `${name} · Vidicon`;
element("again").onclick = () => session.retryNow();
element("live").onclick = () => {
  if (session.state === "paused") session.play();
  else if (element("live").dataset.state === "behind") session.player.goLive();
};

function nameInAddress() {
  const path = pathBelow();
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

// Updates from the server.

watchStreams((streams) => {
  isOnline = true;
  const found = streams.find((candidate) => candidate.name === name);
  const hasRestarted = found && found.startedAt !== startedAt;
  const isNew = found && (!stream || hasRestarted);
  stream = found ?? null;
  recording.isOperator = found?.steerable;
  recording.address = found?.recording;
  panel.stream = stream;
  effects.stream = stream;
  pushes.stream = stream;
  check.stream = stream;
  login.stream = stream;
  if (found) describe(found);
  if (isNew) {
    const isFirst = startedAt === null;
    startedAt = found.startedAt;
    if (isFirst) session.open(found, new URLSearchParams(location.search).get("way"));
    else session.resume(found);
  }
  refresh();
}, () => {
  isOnline = false;
  refresh();
});

function describe(found) {
  const { width, height, codec } = found.video ?? {};
  if (width && height) element("stage").style.setProperty("--shape", `${width} / ${height}`);
  element("format").textContent = [text.codec(codec), text.codec(found.audio?.codec)].filter(Boolean).join(" · ");
  element("snapshot").href = urlOf(found.snapshot).href;
  controls.hasAudio = found.audio != null;
  facts.describe(found);
  showAddresses(found);
  element("facts").hidden = false;
  element("side").hidden = false;
}

// Updates from the player.

let detail = {};

function show(state, newDetail) {
  detail = newDetail;
  if (state === "waiting" || state === "connecting") freeze();
  if (state === "playing") element("frozen").hidden = true;
  refresh();
}

video.addEventListener("playing", () => session.notePlaying());
video.addEventListener("pause", () => {
  // Paused by the browser: media key, audio focus of another program, closed picture-in-picture window.
  if (session.state === "playing" && !video.ended && !document.hidden) session.pause();
});

/** Keeps the last frame visible while a new player starts. */
function freeze() {
  if (video.readyState < 2 || !video.videoWidth) return;
  const canvas = element("frozen");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  canvas.hidden = false;
}

/** Updates the badge and the notice. */
function refresh() {
  const state = session.state;
  const isMissing = isOnline === true && !stream && state !== "playing";
  const [badge, label] = badgeFor(state);
  element("live").dataset.state = badge;
  write(element("live"), label);
  write(element("message"), messageFor(state, isMissing));
  const isBusy = state === "connecting" || state === "buffering" || state === "waiting" || state === null;
  element("spinner").hidden = !isBusy || isMissing;
  element("again").hidden = state !== "waiting" || isMissing || detail.retryAt - Date.now() < 1500;
  element("notice").hidden = !isBusy && state !== "ended" && !isMissing;
  controls.update();
}

function badgeFor(state) {
  if (state === "paused") return ["behind", "Paused"];
  if (state === "ended") return ["off", "Ended"];
  if (state === "buffering") return ["off", "Buffering"];
  if (state !== "playing") return ["off", "Not connected"];
  if (stream && !hasSignal(stream)) return ["nosignal", "No signal"];
  return facts.latency > BEHIND ? ["behind", "Go live"] : ["live", "Live"];
}

function messageFor(state, isMissing) {
  if (isMissing && startedAt === null) return `There is no camera “${name}”. Playback starts when it appears.`;
  if (isMissing || state === "ended") return "This camera has ended. Playback resumes when it is back.";
  if (isOnline === false && state !== "playing") return "Connection lost. Retrying.";
  if (state === "waiting" && detail.retryAt - Date.now() > 800) return `${detail.message} Retrying.`;
  return "";
}

function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

setInterval(refresh, 1000);

// Suspends hidden pages, unless audio is audible or the video is in picture-in-picture.

document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(suspend, HIDDEN);
  else wake();
});

function wake() {
  if (document.hidden || !isSuspended) return;
  isSuspended = false;
  session.play();
}

// A browser that freezes the page pauses its media, and leaves it so: that is no wish of the viewer. The server ends a session that is
// silent for longer than 20 s.

document.addEventListener("freeze", () => {
  clearTimeout(hiding);
  if (session.state === "paused") return;
  isSuspended = true;
  session.pause();
});
document.addEventListener("resume", wake);

function suspend() {
  const isAudible = controls.hasAudio && !video.muted && !video.paused;
  if (!document.hidden || isAudible || document.pictureInPictureElement || session.state === "paused") return;
  isSuspended = true;
  session.pause();
}

window.addEventListener("online", () => session.recover());
navigator.connection?.addEventListener("change", () => session.recover());
